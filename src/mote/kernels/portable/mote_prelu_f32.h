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
    mote_walk_t at = mote_walk_to_row(walk, lo);
    out += lo * walk->runs * walk->run;
    for (int32_t runs = (hi - lo) * walk->runs; runs > 0; runs--) {
        const float *from = x + at.a, *slope = alpha + at.b;
        for (int32_t n = walk->run; n > 0; n--, slope += walk->b_step) {
            const float q = *from++;
            *out++ = q >= 0.0f ? q : q * *slope;
        }
        mote_walk_on(walk, &at);
    }
}

#endif
