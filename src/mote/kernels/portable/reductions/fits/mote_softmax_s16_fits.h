/* mote_softmax_s16_fits.h: checks of the parameters of mote_softmax_s16.h. */
#ifndef MOTE_SOFTMAX_S16_FITS_H
#define MOTE_SOFTMAX_S16_FITS_H

#include "mote_common_fits.h"
#include "mote_softmax_s16.h"

static inline int mote_softmax_s16_fits(const mote_softmax_s16_t *p, const mote_room_t *room) {
    return mote_rescales(p->shift) && mote_vectors_fit(room, p->depth, p->depth, 2) &&
           mote_array_fits(room, p->exp, 513, 1, 1, 1, 2) && mote_array_fits(room, p->reciprocal, 513, 1, 1, 1, 2);
}

#endif
