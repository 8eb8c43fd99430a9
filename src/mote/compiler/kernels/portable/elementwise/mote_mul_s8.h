/* mote_mul_s8.h: int8 multiplication of two tensors. */
#ifndef MOTE_MUL_S8_H
#define MOTE_MUL_S8_H

#include "mote_broadcast.h"

typedef struct {
    int32_t a_zero, b_zero;
    int32_t left, mult, right; /* the product is shifted left, multiplied, shifted right */
    int32_t ties;              /* -1: the right shift rounds halves away from zero; 0: there is no shift */
    int32_t add;               /* half of the last place and the output's zero point, before the right shift */
    int32_t lo, hi;
} mote_mul_s8_t;

typedef struct {
    mote_broadcast_t walk;
    mote_mul_s8_t mul;
} mote_mul_rows_s8_t;

static inline void mote_mul_run(const mote_mul_s8_t *p, const int8_t *a, const int8_t *b, int32_t b_step, int8_t *out,
                                int32_t n) {
    const mote_mul_s8_t q = *p; /* a copy cannot change under the stores to out */
    for (; n > 0; n--, b += b_step) {
        const int32_t product = (*a++ - q.a_zero) * (*b - q.b_zero);
        const int32_t high = mote_high_mul_normal((int32_t)((uint32_t)product << q.left), q.mult);
        *out++ = mote_clamp((high + ((high >> 31) & q.ties) + q.add) >> q.right, q.lo, q.hi);
    }
}

static inline void mote_mul_s8(const mote_mul_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out, int32_t n) {
    mote_mul_run(p, a, b, 1, out, n);
}

static inline void mote_mul_rows_s8(const mote_mul_rows_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                    int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        mote_mul_run(&p->mul, a + at.a, b + at.b, walk->b_step, out, walk->run);
    }
}

#endif
