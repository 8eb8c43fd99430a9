/* mote_even_conv2d.h: `mote_layer_conv2d.h` with sums that are rounded as mote_even.h says. */
#ifndef MOTE_EVEN_CONV2D_H
#define MOTE_EVEN_CONV2D_H

#include "mote_even.h"
#include "mote_layer_conv2d.h"

#endif
