/* mote_packed_matmul.h: int8 products of matrices, the right ones packed into working memory as instructions that
 * multiply several values want them. What kernels for such cores share: products, and how sums become bytes.
 *
 * Sums are rounded as LiteRT's reference does it, after the multiplication and, halves away from zero, after the shift. */
#ifndef MOTE_PACKED_MATMUL_H
#define MOTE_PACKED_MATMUL_H

#include "mote_batch_matmul.h"

typedef struct {
    mote_matmul_t size; /* a run leads to the next product, of `rows` rows each */
    int32_t out_line;   /* elements of the output from one row of a product to the next */
    int32_t left_zero, right_zero;
    int32_t mult, add, shift; /* shift: 1..30; add: the zero point and a half, shifted to the left by as much */
} mote_packed_matmul_t;

/* A product: where its rows begin. */
typedef struct {
    const int8_t *left, *right;
    int8_t *out;
} mote_product_t;

/* A sum as a byte; y: twice the sum. */
static inline int8_t mote_packed_finish(const mote_packed_matmul_t *p, int32_t y) {
    const int32_t high = (int32_t)(((int64_t)y * p->mult + ((int64_t)1 << 31)) >> 32);
    const int32_t sum = mote_wrapping_add(mote_wrapping_add(high, p->add), y >> 31);
    return mote_clamp(sum >> p->shift, -128, 127);
}

/* Where the four columns begin that are packed for column c: the last four are whole where there are as many. */
static inline int32_t mote_packed_first(const mote_packed_matmul_t *p, int32_t c) {
    const int32_t last = p->size.columns - 4;
    return last < 0 ? 0 : mote_min(c, last);
}

/* Some of four columns, which begin at column c, from product k of their sums on: [4 products][4 columns], with the zero
 * point where there are none. */
static inline void mote_packed_tile(const mote_packed_matmul_t *p, const int8_t *right, int32_t c, int32_t k,
                                    int8_t *tile) {
    for (int32_t i = 0; i < 16; i++) {
        const int32_t column = c + i % 4, at = k + i / 4;
        const int some = column < p->size.columns && at < p->size.depth;
        tile[i] = (int8_t)(some ? right[column * p->size.right_line + at * p->size.right_step] : p->right_zero);
    }
}

/* The kernel `name` of a function that computes a product. */
#define MOTE_PACKED_MATMUL(name, function) \
    typedef mote_packed_matmul_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const int8_t *left, const int8_t *right, \
                                               int8_t *out, uint32_t *scratch) { \
        const mote_broadcast_t *walk = &p->size.walk; \
        MOTE_FOR_RUNS(walk, at, out, 0, 1) { \
            const mote_product_t product = {left + at.a, right + at.b, out}; \
            function(p, &product, scratch); \
        } \
    }

#endif
