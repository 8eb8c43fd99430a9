/* mote_rnn_sequence_f32_fits.h: whether parameters of mote_rnn_sequence_f32.h fit. */
#ifndef MOTE_RNN_SEQUENCE_F32_FITS_H
#define MOTE_RNN_SEQUENCE_F32_FITS_H

#include "mote_recurrent_f32_fits.h"
#include "mote_rnn_sequence_f32.h"

static inline int mote_rnn_sequence_weights_fit(const mote_rnn_sequence_f32_t *p, const mote_room_t *room) {
    const mote_recurrent_f32_t *const s = &p->steps;
    return mote_recurrent_lines_f32(s, room, p->weights, 1, s->inputs) &&
           mote_recurrent_lines_f32(s, room, p->recurrent, 1, s->units) &&
           mote_recurrent_lines_f32(s, room, p->bias, 1, 1);
}

MOTE_RECURRENT_F32_FITS(rnn_sequence, 1, 2)

#endif
