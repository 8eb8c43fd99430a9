/* mote_lstm_sequence_f32_fits.h: whether parameters of mote_lstm_sequence_f32.h fit. */
#ifndef MOTE_LSTM_SEQUENCE_F32_FITS_H
#define MOTE_LSTM_SEQUENCE_F32_FITS_H

#include "mote_lstm_sequence_f32.h"
#include "mote_recurrent_f32_fits.h"

static inline int mote_lstm_sequence_weights_fit(const mote_lstm_sequence_f32_t *p, const mote_room_t *room) {
    const mote_recurrent_f32_t *const s = &p->steps;
    return mote_recurrent_lines_f32(s, room, p->weights, 4, s->inputs) &&
           mote_recurrent_lines_f32(s, room, p->recurrent, 4, s->units) &&
           mote_recurrent_lines_f32(s, room, p->bias, 4, 1) &&
           (p->peepholes == NULL || mote_recurrent_lines_f32(s, room, p->peepholes, 3, 1));
}

MOTE_RECURRENT_F32_FITS(lstm_sequence, 2, 6)

#endif
