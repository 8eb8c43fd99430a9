/* mote_add_even_s8.h: int8 addition as ONNX Runtime does it: fused multiplications in single precision, halves to even.
 * For the layers that mote_add_s8.h cannot do.
 *
 * What all values of the second operand come to is known, and of the first one there is only a product to add. In fixed
 * point that is good enough unless the result is near a half, where single precision is followed. */
#ifndef MOTE_ADD_EVEN_S8_H
#define MOTE_ADD_EVEN_S8_H

#include "mote_broadcast.h"
#include "mote_even_real.h"

#if MOTE_SHORT_DOUBLE
#error "this addition is rounded from double precision: compile for a double of 64 bits (avr-gcc: -mdouble=64)"
#endif

typedef struct {
    int32_t factor, shift, near; /* of fixed point, which has a half added to its `terms` */
    int32_t base;                /* what the runtime's values are more */
    int32_t turned;              /* 1: the roles of both are exchanged */
    float ratio;
    const int32_t *terms; /* of the second operand, from -128 up */
    const float *exact;   /* the same, as they are */
} mote_add_even_s8_t;

typedef struct {
    mote_broadcast_t walk;
    mote_add_even_s8_t add_even;
} mote_add_even_rows_s8_t;

static inline int8_t mote_add_even_one(const mote_add_even_s8_t *p, int32_t x, int32_t y) {
    const int32_t fixed = p->factor * x + p->terms[y + 128], mask = ((int32_t)1 << p->shift) - 1;
    if (((fixed + p->near) & mask) >= 2 * p->near) {
        return mote_clamp(fixed >> p->shift, -128, 127);
    }
    const double sum = (double)(x + p->base) * (double)p->ratio + (double)p->exact[y + 128];
    return mote_clamp(mote_round_even((float)sum, 1024.0f) - p->base, -128, 127);
}

static inline void mote_add_even_run(const mote_add_even_s8_t *p, const int8_t *a, const int8_t *b, int32_t b_step,
                                     int8_t *out, int32_t n) {
    for (; n > 0; n--, a++, b += b_step) {
        *out++ = p->turned ? mote_add_even_one(p, *b, *a) : mote_add_even_one(p, *a, *b);
    }
}

static inline void mote_add_even_s8(const mote_add_even_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                    int32_t n) {
    mote_add_even_run(p, a, b, 1, out, n);
}

static inline void mote_add_even_rows_s8(const mote_add_even_rows_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                         int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        mote_add_even_run(&p->add_even, a + at.a, b + at.b, walk->b_step, out, walk->run);
    }
}

#endif
