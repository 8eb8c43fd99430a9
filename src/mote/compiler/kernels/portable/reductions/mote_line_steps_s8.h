/* mote_line_steps_s8.h: steps of int8 lines (mote_lines.h) with one number for the whole line: sums, products, and the mean
 * of squared differences. */
#ifndef MOTE_LINE_STEPS_S8_H
#define MOTE_LINE_STEPS_S8_H

#include "mote_line_s8.h"
#include "mote_quantized.h"

/* clamp((c + (a * x >> 8) + (b * y >> 8)) >> 16), as in mote_add4_s8.h; y is one number. */
typedef struct {
    int32_t a, b, c;
} mote_add_line_s8_t;

static inline void mote_add_line_s8(const mote_add_line_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                    int32_t n) {
    mote_line_affine_t affine;
    affine.a = p->a;
    affine.c = p->c + mote_line_scale(p->b, *y);
    mote_line_affine(&affine, x, out, n);
}

typedef mote_line_product_t mote_mul_line_s8_t;

static inline void mote_mul_line_s8(const mote_mul_line_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                    int32_t n) {
    mote_line_product(p, x, *y, out, n);
}

/* Squares of differences from y, one number, and their mean. Places of the difference are those of SQUARED_DIFFERENCE. */
typedef struct {
    int32_t size;
    mote_line_squares_t squares; /* where y is its zero point */
    mote_term_t y;
    int32_t bias, mult, shift, zero; /* how a sum becomes an output */
} mote_squares_line_s8_t;

static inline void mote_squares_line_s8(const mote_squares_line_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                        int32_t lines) {
    for (; lines > 0; lines--, x += p->size) {
        mote_line_squares_t squares = p->squares;
        int32_t sum;
        squares.affine.c -= mote_squared(&p->y, 128, *y++) * 65536;
        sum = mote_line_squares(&squares, x, p->size) + p->bias;
        sum = mote_wrapping_add(mote_rescale(sum, p->mult, p->shift), p->zero);
        *out++ = mote_saturate_s8(sum);
    }
}

#endif
