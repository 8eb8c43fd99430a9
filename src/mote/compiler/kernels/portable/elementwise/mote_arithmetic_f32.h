/* mote_arithmetic_f32.h: float32 addition, subtraction and multiplication of two tensors. */
#ifndef MOTE_ARITHMETIC_F32_H
#define MOTE_ARITHMETIC_F32_H

#include "mote_broadcast.h"
#include "mote_fours_f32.h"

typedef struct {
    float a_sign, b_sign; /* 1, or -1 for what is subtracted: multiplying by them is exact */
    float low, high;
} mote_add_f32_t;

typedef struct {
    mote_broadcast_t walk;
    mote_add_f32_t add;
} mote_add_rows_f32_t;

typedef struct {
    float low, high;
} mote_mul_f32_t;

typedef struct {
    mote_broadcast_t walk;
    mote_mul_f32_t mul;
} mote_mul_rows_f32_t;

static inline void mote_add_run_f32(const mote_add_f32_t *p, const float *a, const float *b, int32_t b_step, float *out,
                                    int32_t n) {
    int32_t i = 0;
    if (b_step == 1 && p->a_sign > 0.0f) {
        i = p->b_sign > 0.0f ? mote_fours_sum(a, b, out, n, p->low, p->high)
                             : mote_fours_difference(a, b, out, n, p->low, p->high);
    }
    for (; i < n; i++) {
        out[i] = mote_clamp_f32(p->a_sign * a[i] + p->b_sign * b[i * b_step], p->low, p->high);
    }
}

static inline void mote_add_f32(const mote_add_f32_t *p, const float *a, const float *b, float *out, int32_t n) {
    mote_add_run_f32(p, a, b, 1, out, n);
}

static inline void mote_add_rows_f32(const mote_add_rows_f32_t *p, const float *a, const float *b, float *out,
                                     int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        mote_add_run_f32(&p->add, a + at.a, b + at.b, walk->b_step, out, walk->run);
    }
}

#define MOTE_PRODUCT_COPIES 16

/* Products with one number, of which so many copies are made: of the elements that fill fours, if these are many. */
static inline int32_t mote_fours_product_by(const float *a, float b, float *out, int32_t n, float low, float high) {
    float copies[MOTE_PRODUCT_COPIES];
    int32_t done = 0, last = MOTE_PRODUCT_COPIES;
    if (n < MOTE_PRODUCT_COPIES) {
        return 0;
    }
    for (int32_t i = 0; i < MOTE_PRODUCT_COPIES; i++) {
        copies[i] = b;
    }
    for (; last == MOTE_PRODUCT_COPIES; done += last) {
        last = mote_fours_product(a + done, copies, out + done, mote_min(n - done, MOTE_PRODUCT_COPIES), low, high);
    }
    return done;
}

static inline void mote_mul_run_f32(const mote_mul_f32_t *p, const float *a, const float *b, int32_t b_step, float *out,
                                    int32_t n) {
    int32_t i = b_step == 1 ? mote_fours_product(a, b, out, n, p->low, p->high)
                            : mote_fours_product_by(a, *b, out, n, p->low, p->high);
    for (; i < n; i++) {
        out[i] = mote_clamp_f32(a[i] * b[i * b_step], p->low, p->high);
    }
}

static inline void mote_mul_f32(const mote_mul_f32_t *p, const float *a, const float *b, float *out, int32_t n) {
    mote_mul_run_f32(p, a, b, 1, out, n);
}

static inline void mote_mul_rows_f32(const mote_mul_rows_f32_t *p, const float *a, const float *b, float *out,
                                     int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        mote_mul_run_f32(&p->mul, a + at.a, b + at.b, walk->b_step, out, walk->run);
    }
}

#endif
