/* mote_affine_fully_connected.h: `mote_layer_fully_connected.h` with sums that become results as mote_affine.h says. */
#ifndef MOTE_AFFINE_FULLY_CONNECTED_H
#define MOTE_AFFINE_FULLY_CONNECTED_H

#include "mote_affine.h"
#include "mote_layer_fully_connected.h"

#endif
