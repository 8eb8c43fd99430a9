/* mote_prelu_f32.h: float32 PRELU: x, or alpha * x below zero. */
#ifndef MOTE_PRELU_F32_H
#define MOTE_PRELU_F32_H

#include "mote_broadcast.h"

typedef struct {
    mote_broadcast_t walk;
} mote_prelu_f32_t;

static inline void mote_prelu_f32(const mote_prelu_f32_t *p, const float *x, const float *alpha, float *out, int32_t lo,
                                  int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        const float *from = x + at.a, *slope = alpha + at.b;
        float *to = out;
        for (int32_t n = walk->run; n > 0; n--, slope += walk->b_step) {
            const float q = *from++;
            *to++ = q >= 0.0f ? q : q * *slope;
        }
    }
}

#endif
