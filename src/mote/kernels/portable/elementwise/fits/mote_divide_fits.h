/* mote_divide_fits.h: whether parameters of mote_divide.h fit. */
#ifndef MOTE_DIVIDE_FITS_H
#define MOTE_DIVIDE_FITS_H

#include "mote_divide.h"
#include "mote_pairs_fits.h"

MOTE_ANY_FIT(mote_divide_t)

#endif
