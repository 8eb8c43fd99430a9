/* mote_softmax_f32_fits.h: checks of the parameters of mote_softmax_f32.h. */
#ifndef MOTE_SOFTMAX_F32_FITS_H
#define MOTE_SOFTMAX_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_softmax_f32.h"

static inline int mote_softmax_f32_fits(const mote_softmax_f32_t *p, const mote_room_t *room) {
    return p->depth > 0 && mote_vectors_fit(room, p->depth, p->depth, 4);
}

#endif
