/* mote_cross_entropy_s8.h: the cross entropy of int8 logits with a label: its normalized gradient, the size of a step. */
#ifndef MOTE_CROSS_ENTROPY_S8_H
#define MOTE_CROSS_ENTROPY_S8_H

#include "mote_softmax_s8.h"
#include "mote_step_size.h"

typedef struct {
    mote_softmax_s8_t exp;
    int32_t bits; /* exponentials are shifted right by so many, so that all of them fit 31 bits together */
} mote_cross_entropy_t;
typedef mote_cross_entropy_t mote_cross_entropy_gradient_s8_t, mote_cross_entropy_step_s8_t;

static inline int32_t mote_cross_entropy_most(const int8_t *in, int32_t count) {
    int32_t most = in[0];
    for (int32_t i = 1; i < count; i++) {
        most = in[i] > most ? in[i] : most;
    }
    return most;
}

/* The sum of the exponentials of all classes but one. */
static inline uint32_t mote_cross_entropy_others(const mote_cross_entropy_t *p, const int8_t *in, int32_t most,
                                                 int32_t label) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->exp.depth; i++) {
        if (i != label) {
            sum += (uint32_t)mote_softmax_exp(&p->exp, most - in[i]) >> p->bits;
        }
    }
    return sum;
}

static inline void mote_cross_entropy_gradient_s8(const mote_cross_entropy_t *p, const int8_t *in, const int32_t *label,
                                                  int8_t *out) {
    const int32_t most = mote_cross_entropy_most(in, p->exp.depth), right = *label;
    const int known = right >= 0 && right < p->exp.depth;
    const uint32_t others = known ? mote_cross_entropy_others(p, in, most, right) : 0;
    for (int32_t i = 0; i < p->exp.depth; i++) {
        const uint32_t e = (uint32_t)mote_softmax_exp(&p->exp, most - in[i]) >> p->bits;
        out[i] = (int8_t)(others == 0 ? 0 : i == right ? -127 : (int32_t)((127 * e + others / 2) / others));
    }
}

/* The share of the other classes times the learning rate. */
static inline void mote_cross_entropy_step_s8(const mote_cross_entropy_t *p, const int8_t *in, const int32_t *label,
                                              const float *rate, int32_t *out) {
    const int32_t most = mote_cross_entropy_most(in, p->exp.depth), right = *label;
    const int known = right >= 0 && right < p->exp.depth;
    const uint32_t others = known ? mote_cross_entropy_others(p, in, most, right) : 0;
    uint64_t share = 0;
    if (others > 0) {
        const uint32_t own = (uint32_t)mote_softmax_exp(&p->exp, most - in[right]) >> p->bits;
        share = ((uint64_t)others << 30) / (others + own);
    }
    mote_step_size((uint32_t)share, 30, rate, out);
}

#endif
