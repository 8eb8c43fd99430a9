/* mote_softmax_s8_fits.h: checks of the parameters of mote_softmax_s8.h. */
#ifndef MOTE_SOFTMAX_S8_FITS_H
#define MOTE_SOFTMAX_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_softmax_s8.h"

/* Whether mote_softmax_exp can shift so far. */
static inline int mote_softmax_shifts(const mote_softmax_s8_t *p) { return mote_within(p->shift, 0, 30); }

static inline int mote_softmax_s8_fits(const mote_softmax_s8_t *p, const mote_room_t *room) {
    return mote_softmax_shifts(p) && mote_vectors_fit(room, p->depth, p->depth, 1);
}

#endif
