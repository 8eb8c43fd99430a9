/* mote_lstm_hybrid_fits.h: whether parameters of mote_lstm_hybrid.h fit. */
#ifndef MOTE_LSTM_HYBRID_FITS_H
#define MOTE_LSTM_HYBRID_FITS_H

#include "mote_lstm_f32_fits.h"
#include "mote_lstm_hybrid.h"

static inline int mote_lstm_gate_hybrid_fits(const mote_lstm_hybrid_t *p, const mote_lstm_gate_hybrid_t *g,
                                             const mote_room_t *room) {
    const uint32_t each = mote_count(p->cells, 4, 1, 1);
    return mote_holds(room, g->input.weights, mote_count(p->cells, p->inputs, 1, 1), 1) &&
           mote_holds(room, g->recurrent.weights, mote_count(p->cells, p->outputs, 1, 1), 1) &&
           mote_holds(room, g->bias, each, 4) && (g->peephole == NULL || mote_holds(room, g->peephole, each, 4)) &&
           (g->norm == NULL || mote_holds(room, g->norm, each, 4));
}

static inline int mote_lstm_hybrid_fits(const mote_lstm_hybrid_t *p, const mote_room_t *room) {
    const int projected = mote_holds(room, p->projection.weights, mote_count(p->outputs, p->cells, 1, 1), 1) &&
                          mote_holds(room, p->projection_bias, mote_count(p->outputs, 4, 1, 1), 4);
    return MOTE_LSTM_TENSORS_F32_FIT(p, room) && mote_lstm_gate_hybrid_fits(p, &p->gate.forget, room) &&
           (p->coupled || mote_lstm_gate_hybrid_fits(p, &p->gate.input, room)) &&
           mote_lstm_gate_hybrid_fits(p, &p->gate.cell, room) && mote_lstm_gate_hybrid_fits(p, &p->gate.output, room) &&
           (p->projection.weights == NULL ? p->outputs == p->cells : projected);
}

#endif
