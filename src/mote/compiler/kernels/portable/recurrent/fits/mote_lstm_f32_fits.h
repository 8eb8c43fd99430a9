/* mote_lstm_f32_fits.h: whether parameters of mote_lstm_f32.h fit. */
#ifndef MOTE_LSTM_F32_FITS_H
#define MOTE_LSTM_F32_FITS_H

#include "mote_lstm_f32.h"
#include "mote_elements_fits.h"

static inline int mote_lstm_gate_f32_fits(const mote_lstm_f32_t *p, const mote_lstm_gate_f32_t *g,
                                          const mote_room_t *room) {
    const uint32_t each = mote_count(p->cells, 4, 1, 1);
    return mote_holds(room, g->input, mote_count(p->cells, p->inputs, 4, 1), 4) &&
           mote_holds(room, g->recurrent, mote_count(p->cells, p->outputs, 4, 1), 4) &&
           mote_holds(room, g->bias, each, 4) && (g->peephole == NULL || mote_holds(room, g->peephole, each, 4)) &&
           (g->norm == NULL || mote_holds(room, g->norm, each, 4));
}

/* What goes in and comes out, in bytes; the structs of other weights begin alike. */
#define MOTE_LSTM_IN_F32(p) \
    mote_much_times(mote_sequence((p)->batch, (p)->time, (p)->in_batch, (p)->in_time, (p)->inputs), 4)
#define MOTE_LSTM_OUT_F32(p) \
    mote_much_times(mote_sequence((p)->batch, (p)->time, (p)->out_batch, (p)->out_time, (p)->outputs), 4)

/* These, the states, and four gates of working memory. */
#define MOTE_LSTM_TENSORS_F32_FIT(p, room) \
    (mote_of_tensors(room) && mote_takes(room, 0, MOTE_LSTM_IN_F32(p), 4) && \
     mote_keeps(room, 1, mote_count((p)->batch, (p)->outputs, 4, 1), 4) && \
     mote_keeps(room, 2, mote_count((p)->batch, (p)->cells, 4, 1), 4) && mote_gives(room, MOTE_LSTM_OUT_F32(p), 4) && \
     mote_count((p)->cells, 16, 1, 1) <= (room)->scratch)

static inline int mote_lstm_f32_fits(const mote_lstm_f32_t *p, const mote_room_t *room) {
    const int projected = mote_holds(room, p->projection, mote_count(p->outputs, p->cells, 4, 1), 4) &&
                          mote_holds(room, p->projection_bias, mote_count(p->outputs, 4, 1, 1), 4);
    return MOTE_LSTM_TENSORS_F32_FIT(p, room) && mote_lstm_gate_f32_fits(p, &p->gate.forget, room) &&
           (p->coupled || mote_lstm_gate_f32_fits(p, &p->gate.input, room)) &&
           mote_lstm_gate_f32_fits(p, &p->gate.cell, room) && mote_lstm_gate_f32_fits(p, &p->gate.output, room) &&
           (p->projection == NULL ? p->outputs == p->cells : projected);
}

#endif
