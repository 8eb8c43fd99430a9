/* mote_even_transpose_conv.h: `mote_layer_transpose_conv.h` with sums that are rounded as mote_even.h says. */
#ifndef MOTE_EVEN_TRANSPOSE_CONV_H
#define MOTE_EVEN_TRANSPOSE_CONV_H

#include "mote_even.h"
#include "mote_layer_transpose_conv.h"

#endif
