/* mote_even_depthwise_fits.h: checks of the parameters of mote_even_depthwise.h. */
#ifndef MOTE_EVEN_DEPTHWISE_FITS_H
#define MOTE_EVEN_DEPTHWISE_FITS_H

#include "mote_even_fits.h"
#include "mote_even_depthwise.h"
#include "mote_layer_depthwise_fits.h"

#endif
