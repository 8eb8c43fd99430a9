/* mote_recurrent_f32_fits.h: whether parameters of mote_recurrent_f32.h fit. */
#ifndef MOTE_RECURRENT_F32_FITS_H
#define MOTE_RECURRENT_F32_FITS_H

#include "mote_recurrent_f32.h"
#include "mote_elements_fits.h"

/* The bytes up to the end of a result, of which there may be none. */
static inline uint32_t mote_recurrent_end_f32(int32_t begin, uint32_t elements) {
    return begin < 0 ? 0 : mote_much_times(mote_much_plus((uint32_t)begin, elements), 4);
}

/* Sequences in and results out, `states` of lengths and states that are given, `vectors` of working memory. */
static inline int mote_recurrent_f32_fits(const mote_recurrent_f32_t *p, const mote_room_t *room, int32_t states,
                                          int32_t vectors) {
    const uint32_t in = mote_sequence(p->batch, p->time, p->in_batch, p->in_time, p->inputs);
    const uint32_t out = mote_sequence(p->batch, p->time, p->out_batch, p->out_time, p->units);
    const uint32_t state = mote_count(p->batch, p->units, 1, 1);
    int given = states == 0 || mote_takes(room, 1, mote_count(p->batch, 4, 1, 1), 4);
    for (int32_t k = 1; k <= states; k++) {
        given = given && mote_takes(room, 1 + k, mote_much_times(state, 4), 4);
    }
    return given && mote_of_tensors(room) && mote_takes(room, 0, mote_much_times(in, 4), 4) && out != MOTE_MUCH &&
           state != MOTE_MUCH && mote_gives(room, mote_recurrent_end_f32(p->sequence, out), 4) &&
           mote_gives(room, mote_recurrent_end_f32(p->hidden, state), 4) &&
           mote_gives(room, mote_recurrent_end_f32(p->cell, state), 4) &&
           mote_count(p->units, vectors, 4, 1) <= room->scratch;
}

#endif
