/* mote_gru_f32_fits.h: whether parameters of mote_gru_f32.h fit. */
#ifndef MOTE_GRU_F32_FITS_H
#define MOTE_GRU_F32_FITS_H

#include "mote_gru_f32.h"
#include "mote_recurrent_f32_fits.h"

static inline int mote_gru_weights_fit(const mote_gru_f32_t *p, const mote_room_t *room) {
    const mote_recurrent_f32_t *const s = &p->steps;
    return mote_recurrent_lines_f32(s, room, p->weights, 3, s->inputs) &&
           mote_recurrent_lines_f32(s, room, p->recurrent, 2, s->units) &&
           mote_recurrent_lines_f32(s, room, p->candidate, 1, s->units) &&
           mote_recurrent_lines_f32(s, room, p->bias, 3, 1) &&
           (p->after == NULL || mote_recurrent_lines_f32(s, room, p->after, 1, 1));
}

MOTE_RECURRENT_F32_FITS(gru, 1, 5)

#endif
