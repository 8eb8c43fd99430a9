/* mote_cumprod_fits.h: whether parameters of mote_cumprod.h fit. */
#ifndef MOTE_CUMPROD_FITS_H
#define MOTE_CUMPROD_FITS_H

#include "mote_cumprod.h"
#include "mote_cumsum_fits.h"

#define MOTE_CUMPROD_FITS(name, T, A) MOTE_CUMSUM_FITS(name, T, A)

#endif
