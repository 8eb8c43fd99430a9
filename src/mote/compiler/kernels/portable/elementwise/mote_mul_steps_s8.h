/* mote_mul_steps_s8.h: int8 multiplication by a table of the products at which results become more. For the few layers
 * that mote_mul_s8.h has no constants for. */
#ifndef MOTE_MUL_STEPS_S8_H
#define MOTE_MUL_STEPS_S8_H

#include "mote_broadcast.h"

typedef struct {
    int32_t a_zero, b_zero;
    int32_t lo, hi;
    const int32_t *steps; /* where results become -127, -126 and so on to 127, and one that no product reaches */
} mote_mul_steps_s8_t;

typedef struct {
    mote_broadcast_t walk;
    mote_mul_steps_s8_t mul_steps;
} mote_mul_steps_rows_s8_t;

static inline void mote_mul_steps_run(const mote_mul_steps_s8_t *p, const int8_t *a, const int8_t *b, int32_t b_step,
                                      int8_t *out, int32_t n) {
    const int32_t a_zero = p->a_zero, b_zero = p->b_zero, lo = p->lo, hi = p->hi;
    for (; n > 0; n--, b += b_step) {
        const int32_t product = (*a++ - a_zero) * (*b - b_zero);
        int32_t at = 0; /* of steps that are reached, as many as there are powers of two in 255 */
        for (int32_t half = 128; half > 0; half >>= 1) {
            at += p->steps[at + half - 1] <= product ? half : 0;
        }
        *out++ = mote_clamp(at - 128, lo, hi);
    }
}

static inline void mote_mul_steps_s8(const mote_mul_steps_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                     int32_t n) {
    mote_mul_steps_run(p, a, b, 1, out, n);
}

static inline void mote_mul_steps_rows_s8(const mote_mul_steps_rows_s8_t *p, const int8_t *a, const int8_t *b,
                                          int8_t *out, int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        mote_mul_steps_run(&p->mul_steps, a + at.a, b + at.b, walk->b_step, out, walk->run);
    }
}

#endif
