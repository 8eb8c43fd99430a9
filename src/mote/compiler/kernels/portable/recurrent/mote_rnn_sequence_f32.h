/* mote_rnn_sequence_f32.h: float32 layers over sequences that see their last output. Scratch: two vectors of units. */
#ifndef MOTE_RNN_SEQUENCE_F32_H
#define MOTE_RNN_SEQUENCE_F32_H

#include "mote_recurrent_f32.h"

typedef struct {
    mote_recurrent_f32_t steps;
    mote_gate_f32_t gate;
    const float *weights, *recurrent, *bias;
} mote_rnn_sequence_f32_t;

static inline void mote_rnn_sequence_step_f32(const void *layer, mote_gate_function_f32 *gate, const float *x, float *h,
                                              float *sums, float *work) {
    const mote_rnn_sequence_f32_t *const p = (const mote_rnn_sequence_f32_t *)layer;
    const size_t bytes = (size_t)p->steps.units * sizeof(float);
    (void)work;
    memcpy(sums, p->bias, bytes);
    mote_products_f32(p->weights, x, p->steps.inputs, p->steps.units, sums);
    mote_products_f32(p->recurrent, h, p->steps.units, p->steps.units, sums);
    gate(&p->gate, sums, p->steps.units);
    memcpy(h, sums, bytes);
}

MOTE_RECURRENT_F32(rnn_sequence, mote_rnn_sequence_step_f32)

#endif
