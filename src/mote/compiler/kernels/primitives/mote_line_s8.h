/* mote_line_s8.h: what becomes of the elements of an int8 line with numbers that hold for all of it. */
#ifndef MOTE_LINE_S8_H
#define MOTE_LINE_S8_H

#include "mote_elements_s8.h"

/* a * x + c, and the doubled product shifted right by 16 in the end: see mote_line_affine. */
typedef struct {
    int32_t a, c;
} mote_line_affine_t;

/* The product with one number, as mote_mul4_s8.h computes it. */
typedef struct {
    int32_t a_zero, b_zero;
    int32_t mult;
    int32_t add; /* half of the last place and the output's zero point, before the right shift */
    int32_t right;
} mote_line_product_t;

/* Squares of differences: `affine` is 2^16 times the difference, the square is multiplied and what is added is 2^16 times
 * one. */
typedef struct {
    mote_line_affine_t affine;
    int32_t mult, add;
} mote_line_squares_t;

/* floor(a * x / 256) without a product of 64 bits. */
static inline int32_t mote_line_scale(int32_t a, int32_t x) { return (a >> 8) * x + (((a & 255) * x) >> 8); }

static inline int8_t mote_line_affine_one(const mote_line_affine_t *p, int32_t x) {
    return mote_clamp((p->c + mote_line_scale(p->a, x)) >> 16, -128, 127);
}

static inline int8_t mote_line_product_one(const mote_line_product_t *p, int32_t x, int32_t y) {
    const int32_t product = (x - p->a_zero) * (y - p->b_zero);
    const int32_t high = mote_high_mul_normal(product, p->mult) + (product >> 31);
    return mote_clamp((high + p->add) >> p->right, -128, 127);
}

/* 0..255 */
static inline int32_t mote_line_square_one(const mote_line_squares_t *p, int32_t x) {
    const int32_t d = (p->affine.c + mote_line_scale(p->affine.a, x)) >> 16;
    const int32_t y = ((int32_t)(((int64_t)(d * d) * p->mult) >> 32) + p->add) >> 16;
    return y < 0 ? 0 : y > 255 ? 255 : y;
}

#include "mote_line_s8_dsp.h"
#include "mote_line_s8_helium.h"

/* The sum of n elements. */
#ifndef mote_line_sum
static inline int32_t mote_line_sum(const int8_t *x, int32_t n) {
    int32_t a = 0, b = 0;
    for (; n >= 4; n -= 4, x += 4) {
        a += x[0] + x[2];
        b += x[1] + x[3];
    }
    for (; n > 0; n--) {
        a += *x++;
    }
    return a + b;
}
#endif

/* The largest of n elements, and of -128. */
#ifndef mote_line_max
static inline int32_t mote_line_max(const int8_t *x, int32_t n) {
    int32_t max = -128;
    for (int32_t i = 0; i < n; i++) {
        max = x[i] > max ? x[i] : max;
    }
    return max;
}
#endif

/* n times clamp((c + floor(a * x / 256)) / 2^16), rounded down. */
#ifndef mote_line_affine
static inline void mote_line_affine(const mote_line_affine_t *p, const int8_t *x, int8_t *out, int32_t n) {
    const mote_line_affine_t q = *p; /* a copy cannot change under the stores to out */
    for (; n > 0; n--) {
        *out++ = mote_line_affine_one(&q, *x++);
    }
}
#endif

/* n products with y. */
#ifndef mote_line_product
static inline void mote_line_product(const mote_line_product_t *p, const int8_t *x, int32_t y, int8_t *out, int32_t n) {
    const mote_line_product_t q = *p;
    for (; n > 0; n--) {
        *out++ = mote_line_product_one(&q, *x++, y);
    }
}
#endif

/* The sum of the squares of n differences, each of which is 0..255. */
#ifndef mote_line_squares
static inline int32_t mote_line_squares(const mote_line_squares_t *p, const int8_t *x, int32_t n) {
    int32_t sum = 0;
    for (; n > 0; n--) {
        sum += mote_line_square_one(p, *x++);
    }
    return sum;
}
#endif

#endif
