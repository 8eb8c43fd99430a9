/* mote_winograd2_s8_fits.h: whether parameters of the kernels in mote_winograd2_s8.h fit. */
#ifndef MOTE_WINOGRAD2_S8_FITS_H
#define MOTE_WINOGRAD2_S8_FITS_H

#include "mote_winograd2_s8.h"
#include "mote_winograd_fits.h"

#define MOTE_WINOGRAD2_S8_FITS(kind, shift) MOTE_WINOGRAD_FITS(winograd2_s8_##kind##_##shift, 2, 1, 16, 16, 2, 218, 0)

#endif
