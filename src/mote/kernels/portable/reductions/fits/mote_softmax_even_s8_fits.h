/* mote_softmax_even_s8_fits.h: checks of the parameters of mote_softmax_even_s8.h. */
#ifndef MOTE_SOFTMAX_EVEN_S8_FITS_H
#define MOTE_SOFTMAX_EVEN_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_softmax_even_s8.h"

static inline int mote_softmax_even_s8_fits(const mote_softmax_even_s8_t *p, const mote_room_t *room) {
    return mote_vectors_fit(room, p->depth, p->depth, 1) && mote_array_fits(room, p->exp, 256, 1, 1, 1, 4);
}

#endif
