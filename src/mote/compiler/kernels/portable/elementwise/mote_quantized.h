/* mote_quantized.h: sums and products of int16 numbers, and squares of differences, step by step as LiteRT and TensorFlow
 * Lite Micro compute them. */
#ifndef MOTE_QUANTIZED_H
#define MOTE_QUANTIZED_H

#include "mote_pairs.h"

typedef struct {
    int32_t zero, mult, shift; /* see mote_rescale */
} mote_term_t;

typedef struct {
    int32_t mult, shift, zero, lo, hi;
} mote_result_t;

MOTE_ALWAYS_INLINE int32_t mote_limited(int32_t x, int32_t lo, int32_t hi) { return x < lo ? lo : x > hi ? hi : x; }

MOTE_ALWAYS_INLINE int32_t mote_result(const mote_result_t *p, int32_t x) {
    return mote_limited(mote_wrapping_add(mote_rescale(x, p->mult, p->shift), p->zero), p->lo, p->hi);
}

/* int16 sums and differences. */
typedef struct {
    mote_term_t a, b;
    int32_t sign; /* -1: b is subtracted */
    mote_result_t y;
} mote_sum_s16_t;

#define MOTE_SUM_PLACES 15

MOTE_ALWAYS_INLINE int32_t mote_summed_s16(const mote_term_t *p, int32_t x) {
    return mote_rescale((x - p->zero) * ((int32_t)1 << MOTE_SUM_PLACES), p->mult, p->shift);
}

MOTE_ALWAYS_INLINE int32_t mote_sum_of_s16(const mote_sum_s16_t *p, int32_t a, int32_t b) {
    const uint32_t x = (uint32_t)mote_summed_s16(&p->a, a), y = (uint32_t)mote_summed_s16(&p->b, b);
    return mote_result(&p->y, (int32_t)(p->sign < 0 ? x - y : x + y));
}

/* The same where scales are powers of two: an input is shifted right, halves away from zero. */
typedef struct {
    int32_t a_half, a_right, b_half, b_right; /* half of the last place, and the places */
    int32_t sign, lo, hi;
} mote_shifted_sum_t;

MOTE_ALWAYS_INLINE int32_t mote_shifted(int32_t x, int32_t half, int32_t right) {
    return (x + half - (x < 0 && half > 0)) >> right;
}

MOTE_ALWAYS_INLINE int32_t mote_shifted_sum(const mote_shifted_sum_t *p, int32_t a, int32_t b) {
    const int32_t x = mote_shifted(a, p->a_half, p->a_right), y = mote_shifted(b, p->b_half, p->b_right);
    return mote_limited(x + p->sign * y, p->lo, p->hi);
}

/* int16 products; zero points are zero. */
MOTE_ALWAYS_INLINE int32_t mote_product_of_s16(const mote_result_t *p, int32_t a, int32_t b) {
    return mote_result(p, a * b);
}

/* int16 numbers, with a slope below zero. */
typedef struct {
    int32_t x_zero, slope_zero;
    mote_result_t above, below; /* zero */
} mote_slope_s16_t;

MOTE_ALWAYS_INLINE int32_t mote_slope_s16(const mote_slope_s16_t *p, int32_t x, int32_t slope) {
    const int32_t q = x - p->x_zero;
    const uint32_t product = (uint32_t)q * (uint32_t)(slope - p->slope_zero);
    return q >= 0 ? mote_result(&p->above, q) : mote_result(&p->below, (int32_t)product);
}

/* Squares of differences. */
typedef struct {
    mote_term_t a, b;
    int32_t unit; /* a number has so many parts: 128 of int8, one of int16 */
    mote_result_t y;
} mote_square_t;

MOTE_ALWAYS_INLINE int32_t mote_squared(const mote_term_t *p, int32_t unit, int32_t x) {
    return mote_rescale((x - p->zero) * unit, p->mult, p->shift);
}

MOTE_ALWAYS_INLINE int32_t mote_square_of(const mote_square_t *p, int32_t a, int32_t b) {
    const uint32_t x = (uint32_t)mote_squared(&p->a, p->unit, a), y = (uint32_t)mote_squared(&p->b, p->unit, b);
    return mote_result(&p->y, (int32_t)((x - y) * (x - y)));
}

#endif
