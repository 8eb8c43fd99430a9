/* mote_even_transpose_conv_fits.h: checks of the parameters of mote_even_transpose_conv.h. */
#ifndef MOTE_EVEN_TRANSPOSE_CONV_FITS_H
#define MOTE_EVEN_TRANSPOSE_CONV_FITS_H

#include "mote_even_fits.h"
#include "mote_even_transpose_conv.h"
#include "mote_layer_transpose_conv_fits.h"

#endif
