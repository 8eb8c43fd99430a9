/* mote_winograd4_s8_fits.h: whether parameters of the kernels in mote_winograd4_s8.h fit. */
#ifndef MOTE_WINOGRAD4_S8_FITS_H
#define MOTE_WINOGRAD4_S8_FITS_H

#include "mote_winograd4_s8.h"
#include "mote_winograd_fits.h"

#define MOTE_WINOGRAD4_S8_FITS(kind, shift) MOTE_WINOGRAD_FITS(winograd4_s8_##kind##_##shift, 4, 1, 36, 36, 2, 538, 0)

#endif
