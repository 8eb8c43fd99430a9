/* mote_even_fully_connected.h: `mote_layer_fully_connected.h` with sums that are rounded as mote_even.h says. */
#ifndef MOTE_EVEN_FULLY_CONNECTED_H
#define MOTE_EVEN_FULLY_CONNECTED_H

#include "mote_even.h"
#include "mote_layer_fully_connected.h"

#endif
