/* mote_affine_depthwise_fits.h: checks of the parameters of mote_affine_depthwise.h. */
#ifndef MOTE_AFFINE_DEPTHWISE_FITS_H
#define MOTE_AFFINE_DEPTHWISE_FITS_H

#include "mote_affine_fits.h"
#include "mote_affine_depthwise.h"
#include "mote_layer_depthwise_fits.h"

#endif
