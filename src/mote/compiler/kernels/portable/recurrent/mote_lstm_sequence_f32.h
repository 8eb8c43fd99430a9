/* mote_lstm_sequence_f32.h: float32 LSTM over sequences. Scratch: six vectors of units. */
#ifndef MOTE_LSTM_SEQUENCE_F32_H
#define MOTE_LSTM_SEQUENCE_F32_H

#include "mote_recurrent_f32.h"

typedef struct {
    mote_recurrent_f32_t steps;
    mote_gate_f32_t gate, fresh, shown;
    int32_t coupled; /* what is kept is what the input gate does not let in */
    const float *weights, *recurrent, *bias; /* lines of the input, the output and the forget gate, and of fresh cells */
    const float *peepholes; /* with which the gates see the cells; NULL: they do not */
} mote_lstm_sequence_f32_t;

static inline void mote_lstm_sequence_see_f32(const float *weights, const float *cell, int32_t n, float *gate) {
    for (int32_t i = 0; i < n; i++) {
        gate[i] = mote_add_product_f32(gate[i], weights[i], cell[i]);
    }
}

static inline void mote_lstm_sequence_step_f32(const void *layer, mote_gate_function_f32 *gate, const float *x, float *h,
                                               float *cell, float *work) {
    const mote_lstm_sequence_f32_t *const p = (const mote_lstm_sequence_f32_t *)layer;
    const int32_t n = p->steps.units;
    float *const given = work, *const shown = given + n, *const kept = shown + n, *const fresh = kept + n;
    memcpy(work, p->bias, (size_t)(4 * n) * sizeof(float));
    mote_products_f32(p->weights, x, p->steps.inputs, 4 * n, work);
    mote_products_f32(p->recurrent, h, n, 4 * n, work);
    if (p->peepholes != NULL) {
        mote_lstm_sequence_see_f32(p->peepholes, cell, n, given);
        mote_lstm_sequence_see_f32(p->peepholes + 2 * n, cell, n, kept);
    }
    gate(&p->gate, given, n);
    gate(&p->gate, kept, n);
    gate(&p->fresh, fresh, n);
    for (int32_t i = 0; i < n; i++) {
        cell[i] = (p->coupled ? 1.0f - given[i] : kept[i]) * cell[i] + given[i] * fresh[i];
        h[i] = cell[i];
    }
    if (p->peepholes != NULL) {
        mote_lstm_sequence_see_f32(p->peepholes + n, cell, n, shown);
    }
    gate(&p->gate, shown, n);
    gate(&p->shown, h, n);
    for (int32_t i = 0; i < n; i++) {
        h[i] *= shown[i];
    }
}

typedef mote_lstm_sequence_f32_t mote_lstm_sequence_given_f32_t;
typedef mote_lstm_sequence_f32_t mote_lstm_sequence_any_f32_t;

/* As those of other layers, with the cells at the beginning. */
static inline void mote_lstm_sequence_f32(const mote_lstm_sequence_f32_t *p, const float *in, float *out, void *scratch) {
    mote_recurrent_run_f32(&p->steps, mote_lstm_sequence_step_f32, mote_usual_gate_f32, p, in, NULL, NULL, NULL, out,
                           scratch);
}

static inline void mote_lstm_sequence_given_f32(const mote_lstm_sequence_given_f32_t *p, const float *in,
                                                const int32_t *lengths, const float *h0, const float *cell0, float *out,
                                                void *scratch) {
    mote_recurrent_run_f32(&p->steps, mote_lstm_sequence_step_f32, mote_usual_gate_f32, p, in, lengths, h0, cell0, out,
                           scratch);
}

static inline void mote_lstm_sequence_any_f32(const mote_lstm_sequence_any_f32_t *p, const float *in,
                                              const int32_t *lengths, const float *h0, const float *cell0, float *out,
                                              void *scratch) {
    mote_recurrent_run_f32(&p->steps, mote_lstm_sequence_step_f32, mote_any_gate_f32, p, in, lengths, h0, cell0, out,
                           scratch);
}

#endif
