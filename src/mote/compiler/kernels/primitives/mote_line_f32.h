/* mote_line_f32.h: what becomes of the elements of a float32 line with one number for all of it.
 *
 * Sums have four parts: they are as exact as adding a quarter of the elements. mote_line_plus_f32 and mote_line_times_f32
 * compute as many elements as there are fours of them, within `low` and `high`, and give their number. */
#ifndef MOTE_LINE_F32_H
#define MOTE_LINE_F32_H

#include "mote_fours_f32.h"

#include "mote_line_f32_helium.h"
#include "mote_line_f32_vfp.h"

#ifndef mote_line_four_sums_f32
/* The sums of every fourth of n numbers, a multiple of four. */
static inline void mote_line_four_sums_f32(const float *x, int32_t n, float *sums) {
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (; n > 0; n -= 4, x += 4) {
        a += x[0];
        b += x[1];
        c += x[2];
        d += x[3];
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

/* The same of the squares of their distances from a number. */
static inline void mote_line_four_squares_f32(const float *x, int32_t n, float y, float *sums) {
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (; n > 0; n -= 4, x += 4) {
        const float p = x[0] - y, q = x[1] - y, r = x[2] - y, s = x[3] - y;
        a = mote_add_product_f32(a, p, p);
        b = mote_add_product_f32(b, q, q);
        c = mote_add_product_f32(c, r, r);
        d = mote_add_product_f32(d, s, s);
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

static inline int32_t mote_line_plus_f32(const float *x, float y, float *out, int32_t n, float low, float high) {
    (void)x, (void)y, (void)out, (void)n, (void)low, (void)high;
    return 0;
}

static inline int32_t mote_line_times_f32(const float *x, float y, float *out, int32_t n, float low, float high) {
    (void)x, (void)y, (void)out, (void)n, (void)low, (void)high;
    return 0;
}
#endif

/* The sum of n numbers, and of the squares of their distances from a number. */
static inline float mote_line_sum_f32(const float *x, int32_t n) {
    float sums[4];
    int32_t i = n & ~3;
    mote_line_four_sums_f32(x, i, sums);
    for (; i < n; i++) {
        sums[0] += x[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static inline float mote_line_squares_f32(const float *x, int32_t n, float y) {
    float sums[4];
    int32_t i = n & ~3;
    mote_line_four_squares_f32(x, i, y, sums);
    for (; i < n; i++) {
        sums[0] = mote_add_product_f32(sums[0], x[i] - y, x[i] - y);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

#endif
