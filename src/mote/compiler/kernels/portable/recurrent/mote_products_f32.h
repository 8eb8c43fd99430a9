/* mote_products_f32.h: a float32 matrix times a vector, as recurrent layers have it.
 *
 * Rows come in blocks of four, a weight of each beside those of the others, and the rows that are left one after another:
 * an element of the vector is loaded once for four products. */
#ifndef MOTE_PRODUCTS_F32_H
#define MOTE_PRODUCTS_F32_H

#include "mote_block_f32.h"
#include "mote_dot_f32.h"

/* sums += weights * x, for `rows` rows of `depth` weights. */
static inline void mote_products_f32(const float *weights, const float *x, int32_t depth, int32_t rows,
                                     float *sums) {
    for (; rows >= MOTE_BLOCK; rows -= MOTE_BLOCK, weights += MOTE_BLOCK * depth, sums += MOTE_BLOCK) {
        mote_block1_f32(x, weights, depth, sums);
    }
    for (; rows > 0; rows--, weights += depth, sums++) {
        *sums = mote_dot_f32(*sums, x, weights, depth);
    }
}

#endif
