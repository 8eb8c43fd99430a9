/* mote_whole_fits.h: whether parameters of mote_whole.h fit. */
#ifndef MOTE_WHOLE_FITS_H
#define MOTE_WHOLE_FITS_H

#include "mote_pairs_fits.h"
#include "mote_whole.h"

MOTE_ANY_FIT(mote_limits_t)
MOTE_ANY_FIT(mote_long_limits_t)

#define MOTE_WHOLE_FITS(name, type, op, limits, limit) MOTE_PAIRS_FITS(name, limits, type, type, type, of)
#define MOTE_FLOOR_MOD_FITS(name, type) MOTE_PAIRS_FITS(name, mote_nothing_t, type, type, type, of)

#endif
