/* mote_gru_f32.h: float32 GRU over sequences. Scratch: five vectors of units. */
#ifndef MOTE_GRU_F32_H
#define MOTE_GRU_F32_H

#include "mote_recurrent_f32.h"

typedef struct {
    mote_recurrent_f32_t steps;
    mote_gate_f32_t gate, fresh;
    const float *weights;   /* of the input: lines of the update and the reset gate and of the fresh output */
    const float *recurrent; /* of the last output: those of both gates */
    const float *candidate; /* of the last output: those of the fresh one */
    const float *bias;
    const float *after; /* what is added to products with the last output, where the reset gate is for those; else NULL */
} mote_gru_f32_t;

static inline void mote_gru_step_f32(const void *layer, mote_gate_function_f32 *gate, const float *x, float *h,
                                     float *other, float *work) {
    const mote_gru_f32_t *const p = (const mote_gru_f32_t *)layer;
    const int32_t n = p->steps.units;
    float *const update = work, *const reset = update + n, *const fresh = reset + n;
    memcpy(work, p->bias, (size_t)(3 * n) * sizeof(float));
    mote_products_f32(p->weights, x, p->steps.inputs, 3 * n, work);
    mote_products_f32(p->recurrent, h, n, 2 * n, work);
    gate(&p->gate, work, 2 * n);
    if (p->after != NULL) {
        memcpy(other, p->after, (size_t)n * sizeof(float));
        mote_products_f32(p->candidate, h, n, n, other);
        for (int32_t i = 0; i < n; i++) {
            fresh[i] += reset[i] * other[i];
        }
    } else {
        for (int32_t i = 0; i < n; i++) {
            other[i] = reset[i] * h[i];
        }
        mote_products_f32(p->candidate, other, n, n, fresh);
    }
    gate(&p->fresh, fresh, n);
    for (int32_t i = 0; i < n; i++) {
        h[i] = (1.0f - update[i]) * fresh[i] + update[i] * h[i];
    }
}

MOTE_RECURRENT_F32(gru, mote_gru_step_f32)

#endif
