/* mote_l2_normalization_s8_fits.h: checks of the parameters of mote_l2_normalization_s8.h. */
#ifndef MOTE_L2_NORMALIZATION_S8_FITS_H
#define MOTE_L2_NORMALIZATION_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_l2_normalization_s8.h"

/* An inverse root is shifted right by up to 12 bits, which `after` makes fewer. */
static inline int mote_l2_normalization_s8_fits(const mote_l2_normalization_s8_t *p, const mote_room_t *room) {
    return mote_within(p->before, 0, 30) && mote_within(p->after, -20, 31) &&
           mote_vectors_fit(room, p->depth, p->depth, 1);
}

#endif
