/* mote_winograd_stride2_s8_fits.h: whether parameters of the kernels in mote_winograd_stride2_s8.h fit. */
#ifndef MOTE_WINOGRAD_STRIDE2_S8_FITS_H
#define MOTE_WINOGRAD_STRIDE2_S8_FITS_H

#include "mote_winograd_stride2_s8.h"
#include "mote_winograd_fits.h"

#define MOTE_WINOGRAD_STRIDE2_S8_FITS(kind, shift) MOTE_WINOGRAD_FITS(winograd_stride2_s8_##kind##_##shift, 2, 2, 25, 16, 3, 82, 25)

#endif
