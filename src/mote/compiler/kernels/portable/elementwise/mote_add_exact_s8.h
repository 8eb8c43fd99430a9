/* mote_add_exact_s8.h: int8 addition and subtraction, step by step as LiteRT does it. For the few layers
 * that mote_add_s8.h cannot do: a fused activation inside the int8 range, very unequal scales. */
#ifndef MOTE_ADD_EXACT_S8_H
#define MOTE_ADD_EXACT_S8_H

#include "mote_broadcast.h"

#define MOTE_ADD_HEADROOM 20

typedef struct {
    int32_t zero, mult, shift; /* to the common scale; see mote_rescale */
    int32_t sign;              /* -1: subtracted */
} mote_addend_t;

typedef struct {
    mote_addend_t a, b;
    int32_t mult, shift; /* of the sum */
    mote_output_t output;
} mote_add_exact_s8_t;

typedef struct {
    mote_broadcast_t walk;
    mote_add_exact_s8_t add_exact;
} mote_add_exact_rows_s8_t;

static inline int32_t mote_addend(const mote_addend_t *p, int32_t x) {
    return p->sign * mote_rescale((x - p->zero) * ((int32_t)1 << MOTE_ADD_HEADROOM), p->mult, p->shift);
}

static inline void mote_add_exact_run(const mote_add_exact_s8_t *p, const int8_t *a, const int8_t *b, int32_t b_step,
                                      int8_t *out, int32_t n) {
    for (; n > 0; n--, b += b_step) {
        const int32_t sum = mote_addend(&p->a, *a++) + mote_addend(&p->b, *b);
        const int32_t y = mote_rescale(sum, p->mult, p->shift) + p->output.zero;
        *out++ = mote_clamp(y, p->output.lo, p->output.hi);
    }
}

static inline void mote_add_exact_s8(const mote_add_exact_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                     int32_t n) {
    mote_add_exact_run(p, a, b, 1, out, n);
}

static inline void mote_add_exact_rows_s8(const mote_add_exact_rows_s8_t *p, const int8_t *a, const int8_t *b,
                                          int8_t *out, int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        mote_add_exact_run(&p->add_exact, a + at.a, b + at.b, walk->b_step, out, walk->run);
    }
}

#endif
