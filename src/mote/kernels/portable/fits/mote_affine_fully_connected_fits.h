/* mote_affine_fully_connected_fits.h: checks of the parameters of mote_affine_fully_connected.h. */
#ifndef MOTE_AFFINE_FULLY_CONNECTED_FITS_H
#define MOTE_AFFINE_FULLY_CONNECTED_FITS_H

#include "mote_affine_fits.h"
#include "mote_affine_fully_connected.h"
#include "mote_layer_fully_connected_fits.h"

#endif
