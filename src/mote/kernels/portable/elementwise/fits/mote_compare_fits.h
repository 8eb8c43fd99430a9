/* mote_compare_fits.h: whether parameters of mote_compare.h fit. */
#ifndef MOTE_COMPARE_FITS_H
#define MOTE_COMPARE_FITS_H

#include "mote_compare.h"
#include "mote_pairs_fits.h"

static inline int mote_compare_t_fit(const mote_compare_t *p) {
    return mote_rescales(p->a.shift) && mote_rescales(p->b.shift);
}

#define MOTE_COMPARE_FITS(name, type, of) MOTE_PAIRS_FITS(name, mote_compare_t, type, type, uint8_t, of)

#endif
