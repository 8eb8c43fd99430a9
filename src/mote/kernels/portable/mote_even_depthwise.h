/* mote_even_depthwise.h: `mote_layer_depthwise.h` with sums that are rounded as mote_even.h says. */
#ifndef MOTE_EVEN_DEPTHWISE_H
#define MOTE_EVEN_DEPTHWISE_H

#include "mote_even.h"
#include "mote_layer_depthwise.h"

#endif
