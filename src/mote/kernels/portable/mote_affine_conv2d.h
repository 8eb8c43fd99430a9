/* mote_affine_conv2d.h: `mote_layer_conv2d.h` with sums that become results as mote_affine.h says. */
#ifndef MOTE_AFFINE_CONV2D_H
#define MOTE_AFFINE_CONV2D_H

#include "mote_affine.h"
#include "mote_layer_conv2d.h"

#endif
