/* mote_even_fully_connected_fits.h: checks of the parameters of mote_even_fully_connected.h. */
#ifndef MOTE_EVEN_FULLY_CONNECTED_FITS_H
#define MOTE_EVEN_FULLY_CONNECTED_FITS_H

#include "mote_even_fits.h"
#include "mote_even_fully_connected.h"
#include "mote_layer_fully_connected_fits.h"

#endif
