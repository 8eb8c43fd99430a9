/* mote_affine_conv2d_fits.h: checks of the parameters of mote_affine_conv2d.h. */
#ifndef MOTE_AFFINE_CONV2D_FITS_H
#define MOTE_AFFINE_CONV2D_FITS_H

#include "mote_affine_fits.h"
#include "mote_affine_conv2d.h"
#include "mote_layer_conv2d_fits.h"

#endif
