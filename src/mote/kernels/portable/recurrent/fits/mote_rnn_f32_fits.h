/* mote_rnn_f32_fits.h: whether parameters of mote_rnn_f32.h fit. */
#ifndef MOTE_RNN_F32_FITS_H
#define MOTE_RNN_F32_FITS_H

#include "mote_rnn_f32.h"
#include "mote_sequence_fits.h"

static inline int mote_rnn_f32_fits(const mote_rnn_f32_t *p, const mote_room_t *room) {
    const uint32_t in = mote_sequence(p->batch, p->time, p->in_batch, p->in_time, p->inputs);
    const uint32_t out = mote_sequence(p->batch, p->time, p->out_batch, p->out_time, p->units);
    return mote_of_tensors(room) && mote_holds(room, p->weights, mote_count(p->units, p->inputs, 4, 1), 4) &&
           mote_holds(room, p->recurrent, mote_count(p->units, p->units, 4, 1), 4) &&
           mote_holds(room, p->bias, mote_count(p->units, 4, 1, 1), 4) &&
           mote_takes(room, 0, mote_much_times(in, 4), 4) &&
           mote_keeps(room, 1, mote_count(p->batch, p->units, 4, 1), 4) && mote_gives(room, mote_much_times(out, 4), 4);
}

#endif
