/* mote_softmax_f32.h: float32 softmax. */
#ifndef MOTE_SOFTMAX_F32_H
#define MOTE_SOFTMAX_F32_H

#include "mote_math.h"

typedef struct {
    int32_t depth; /* classes */
    float beta;
} mote_softmax_f32_t;

/* y = e^((x - max) * beta) of n numbers, divided by their sum. */
#ifndef mote_softmax_of
static inline void mote_softmax_of(const float *x, float *y, int32_t n, float beta) {
    float max = x[0], sum = 0.0f;
    for (int32_t i = 1; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    for (int32_t i = 0; i < n; i++) {
        y[i] = mote_expf((x[i] - max) * beta);
        sum += y[i];
    }
    const float share = 1.0f / sum; /* from 1 / n to 1 */
    for (int32_t i = 0; i < n; i++) {
        y[i] *= share;
    }
}
#endif

static inline void mote_softmax_f32(const mote_softmax_f32_t *p, const float *in, float *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        mote_softmax_of(in, out, p->depth, p->beta);
    }
}

#endif
