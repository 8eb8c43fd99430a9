/* mote_prelu_s8.h: int8 PRELU: x, or alpha * x below zero. */
#ifndef MOTE_PRELU_S8_H
#define MOTE_PRELU_S8_H

#include "mote_broadcast.h"

typedef struct {
    int32_t mult, shift; /* see mote_rescale */
} mote_prelu_scale_t;

typedef struct {
    mote_broadcast_t walk;
    int32_t x_zero, alpha_zero, y_zero;
    mote_prelu_scale_t above, below; /* zero */
} mote_prelu_s8_t;

static inline void mote_prelu_s8(const mote_prelu_s8_t *p, const int8_t *x, const int8_t *alpha, int8_t *out,
                                 int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        const int8_t *from = x + at.a, *slope = alpha + at.b;
        int8_t *to = out;
        for (int32_t n = walk->run; n > 0; n--, slope += walk->b_step) {
            const int32_t q = *from++ - p->x_zero;
            const int32_t y = q >= 0 ? mote_rescale(q, p->above.mult, p->above.shift)
                                     : mote_rescale(q * (*slope - p->alpha_zero), p->below.mult, p->below.shift);
            *to++ = mote_clamp(y + p->y_zero, -128, 127);
        }
    }
}

#endif
