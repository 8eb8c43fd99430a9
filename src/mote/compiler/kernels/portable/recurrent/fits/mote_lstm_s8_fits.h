/* mote_lstm_s8_fits.h: whether parameters of mote_lstm_s8.h fit. */
#ifndef MOTE_LSTM_S8_FITS_H
#define MOTE_LSTM_S8_FITS_H

#include "mote_lstm_s8.h"
#include "mote_matrix_s8_fits.h"

/* How a kernel computes: with which products, whether gates are normalized, and whether it only reads the states. */
typedef struct {
    mote_matrix_fits_t *matrix;
    int32_t widen, norm, stateless;
} mote_lstm_fits_t;

static inline int mote_lstm_norm_fits(const mote_lstm_normalization_t *n, const mote_room_t *room, int32_t cells) {
    return mote_rescales(n->shift) && mote_holds(room, n->weights, mote_count(cells, 2, 1, 1), 2) &&
           mote_holds(room, n->bias, mote_count(cells, 4, 1, 1), 4);
}

/* Peepholes see as many cells as there are outputs. */
static inline int mote_lstm_peephole_fits(const mote_lstm_s8_t *p, const mote_lstm_peephole_t *seen,
                                          const mote_room_t *room) {
    return seen->weights == NULL ||
           (p->outputs <= p->cells && mote_rescales(seen->shift) &&
            mote_holds(room, seen->weights, mote_count(p->outputs, 2, 1, 1), 2));
}

static inline int mote_lstm_gate_fits(const mote_lstm_s8_t *p, const mote_lstm_gate_t *g, const mote_room_t *room,
                                      mote_lstm_fits_t how) {
    return g->input.depth == p->gate.output.input.depth && g->recurrent.depth == p->outputs &&
           how.matrix(&g->input, room, p->cells) && how.matrix(&g->recurrent, room, p->cells) &&
           mote_lstm_peephole_fits(p, &g->peephole, room) &&
           (!how.norm || mote_lstm_norm_fits(&g->norm, room, p->cells));
}

/* Three gates, the output before its projection, and vectors that are widened. */
static inline uint32_t mote_lstm_works(const mote_lstm_s8_t *p, mote_lstm_fits_t how) {
    uint32_t bytes = mote_count(p->cells, p->projected ? 7 : 6, 1, 1);
    if (how.stateless) {
        bytes = mote_much_plus(bytes, mote_count(p->outputs / 4 + (p->outputs % 4 != 0), 4, 1, 1));
        bytes = mote_much_plus(bytes, mote_count(p->cells / 2 + p->cells % 2, 4, 1, 1));
    }
    if (how.widen) {
        bytes = mote_much_plus(bytes, mote_widened(p->gate.output.input.depth));
        bytes = mote_much_plus(bytes, mote_widened(p->outputs));
        bytes = mote_much_plus(bytes, p->projected ? mote_widened(p->cells) : 0);
    }
    return bytes;
}

static inline int mote_lstm_states_fit(const mote_lstm_s8_t *p, const mote_room_t *room, int32_t stateless) {
    const uint32_t outputs = mote_count(p->batch, p->outputs, 1, 1), cells = mote_count(p->batch, p->cells, 2, 1);
    return stateless ? mote_takes(room, 1, outputs, 1) && mote_takes(room, 2, cells, 2)
                     : mote_keeps(room, 1, outputs, 1) && mote_keeps(room, 2, cells, 2);
}

static inline int mote_lstm_tensors_fit(const mote_lstm_s8_t *p, const mote_room_t *room) {
    const int32_t inputs = p->gate.output.input.depth;
    return mote_of_tensors(room) &&
           mote_takes(room, 0, mote_sequence(p->batch, p->time, p->in_batch, p->in_time, inputs), 1) &&
           mote_gives(room, mote_sequence(p->batch, p->time, p->out_batch, p->out_time, p->outputs), 1);
}

static inline int mote_lstm_fits(const mote_lstm_s8_t *p, const mote_room_t *room, mote_matrix_fits_t *matrix,
                                 int32_t widen, int32_t norm, int32_t stateless) {
    const mote_lstm_fits_t how = {matrix, widen, norm, stateless};
    return mote_lstm_tensors_fit(p, room) && mote_lstm_states_fit(p, room, how.stateless) &&
           mote_lstm_works(p, how) <= room->scratch &&
           mote_within(p->cell_bits, 0, 12) && mote_rescales(p->hidden.shift) &&
           mote_lstm_gate_fits(p, &p->gate.forget, room, how) &&
           (p->coupled || mote_lstm_gate_fits(p, &p->gate.input, room, how)) &&
           mote_lstm_gate_fits(p, &p->gate.cell, room, how) && mote_lstm_gate_fits(p, &p->gate.output, room, how) &&
           (p->projected ? p->projection.depth == p->cells && how.matrix(&p->projection, room, p->outputs)
                         : p->outputs == p->cells);
}

#endif
