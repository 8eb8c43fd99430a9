/* mote_pairs_f32_fits.h: whether parameters of mote_pairs_f32.h fit. */
#ifndef MOTE_PAIRS_F32_FITS_H
#define MOTE_PAIRS_F32_FITS_H

#include "mote_pairs_f32.h"
#include "mote_pairs_fits.h"

MOTE_ANY_FIT(mote_limits_f32_t)
MOTE_ANY_FIT(mote_power_t)

#endif
