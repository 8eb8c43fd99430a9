/* mote_cross_entropy_s8.h: the cross entropy of int8 logits with a label: its normalized gradient, the size of a step,
 * and the loss, a state that is written over. */
#ifndef MOTE_CROSS_ENTROPY_S8_H
#define MOTE_CROSS_ENTROPY_S8_H

#include "mote_scalar.h"
#include "mote_softmax_s8.h"
#include "mote_step_size.h"

#define MOTE_LN2_16 1.0576587e-05f /* the natural logarithm of 2, over 2^16 */

typedef struct {
    mote_softmax_s8_t exp;
    int32_t bits; /* exponentials are shifted right by so many, so that all of them fit 31 bits together */
} mote_cross_entropy_t;
typedef mote_cross_entropy_t mote_cross_entropy_gradient_s8_t;

typedef struct {
    mote_cross_entropy_t of;
    float unit; /* the difference of two logits whose codes differ by 1 */
} mote_cross_entropy_step_s8_t;

static inline int32_t mote_cross_entropy_most(const int8_t *in, int32_t count) {
    int32_t most = in[0];
    for (int32_t i = 1; i < count; i++) {
        most = in[i] > most ? in[i] : most;
    }
    return most;
}

/* The exponential of a logit that is so many steps below the largest one. None is above that, which a proof does not
 * see, as it does not see that the largest one's is not 0: conditions below that always hold say so. */
static inline uint32_t mote_cross_entropy_exp(const mote_cross_entropy_t *p, int32_t below) {
    return (uint32_t)mote_softmax_exp(&p->exp, below > 0 ? below : 0) >> p->bits;
}

/* The sum of the exponentials of all classes but one. */
static inline uint32_t mote_cross_entropy_others(const mote_cross_entropy_t *p, const int8_t *in, int32_t most,
                                                 int32_t label) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->exp.depth; i++) {
        if (i != label) {
            sum += mote_cross_entropy_exp(p, most - in[i]);
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
        const uint32_t e = mote_cross_entropy_exp(p, most - in[i]);
        out[i] = (int8_t)(others == 0 ? 0 : i == right ? -127 : (int32_t)((127 * e + others / 2) / others));
    }
}

/* The logarithm of a positive number to base 2, rounded down to steps of 2^-16. */
static inline int32_t mote_cross_entropy_log2(uint32_t x) {
    int32_t log = 31;
    for (; log > 0 && x >> 31 == 0; x <<= 1) {
        log--;
    }
    for (int32_t i = 0; i < 16; i++) {
        const uint64_t square = (uint64_t)x * x >> 31;
        const uint32_t up = (uint32_t)(square >> 32);
        x = (uint32_t)(square >> up);
        log = 2 * log + (int32_t)up;
    }
    return log;
}

/* The share of the other classes times the learning rate. */
static inline void mote_cross_entropy_step_s8(const mote_cross_entropy_step_s8_t *p, const int8_t *in,
                                              const int32_t *label, const float *rate, float *loss, int32_t *out) {
    const int32_t most = mote_cross_entropy_most(in, p->of.exp.depth), right = *label;
    uint64_t share = 0;
    *loss = 0.0f;
    if (right >= 0 && right < p->of.exp.depth) {
        const int32_t below = most - in[right];
        const uint32_t others = mote_cross_entropy_others(&p->of, in, most, right);
        const uint32_t all = others + mote_cross_entropy_exp(&p->of, below);
        const int32_t bits = mote_cross_entropy_log2(all) - (31 - p->of.bits) * ((int32_t)1 << 16);
        share = ((uint64_t)others << 30) / (all > 0 ? all : 1);
        *loss = mote_product_f32((float)below, p->unit) + mote_product_f32((float)(bits > 0 ? bits : 0), MOTE_LN2_16);
    }
    mote_step_size((uint32_t)share, 30, rate, out);
}

#endif
