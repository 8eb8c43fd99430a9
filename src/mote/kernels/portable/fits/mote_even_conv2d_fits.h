/* mote_even_conv2d_fits.h: checks of the parameters of mote_even_conv2d.h. */
#ifndef MOTE_EVEN_CONV2D_FITS_H
#define MOTE_EVEN_CONV2D_FITS_H

#include "mote_even_fits.h"
#include "mote_even_conv2d.h"
#include "mote_layer_conv2d_fits.h"

#endif
