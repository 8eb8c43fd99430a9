/* mote_affine_depthwise.h: `mote_layer_depthwise.h` with sums that become results as mote_affine.h says. */
#ifndef MOTE_AFFINE_DEPTHWISE_H
#define MOTE_AFFINE_DEPTHWISE_H

#include "mote_affine.h"
#include "mote_layer_depthwise.h"

#endif
