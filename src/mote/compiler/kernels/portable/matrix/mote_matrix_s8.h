/* mote_matrix_s8.h: int8 matrix times vector, four rows at a time, for layers that go on with more than int8.
 *
 * Weights are packed by the compiler in one of three ways:
 *
 *   bytes  [block of 4 rows][4 inputs][4 rows][4], both ends padded with zeros: 27 instructions for 16 products
 *   pairs  two rows in 16 bits, as in mote_fully_connected4_s8.h: 30 instructions for 32 products, of vectors that were
 *          widened to 16 bits
 *   vectors  [block of 4 rows][16 inputs][4 rows][16], see mote_matrix_vectors_s8.h
 */
#ifndef MOTE_MATRIX_S8_H
#define MOTE_MATRIX_S8_H

#include "mote_fully_connected_s8.h"

typedef struct {
    int32_t depth;
    int32_t block;        /* pairs: words of four rows */
    int32_t mult, shift;  /* of the results: see mote_rescale */
    const void *weights;
    const int32_t *start; /* bytes: of each row's sum; padded to a multiple of four */
} mote_matrix_s8_t;

/* Rows `row` to row + 3 of a product, rescaled; `row` is a multiple of four. */
typedef void mote_matrix_rows_t(const mote_matrix_s8_t *m, int32_t row, const void *x, int32_t *result);

/* Two such products, one after the other added in 16 bits: gates of a recurrent layer, which see an input and what the
 * layer gave before. */
typedef struct {
    const mote_matrix_s8_t *input, *recurrent;
    const void *x, *h;
} mote_matrix_gate_t;

typedef void mote_matrix_gates_t(const mote_matrix_gate_t *g, int32_t rows, int16_t *gate);

/* A vector as such a function reads it. */
typedef void mote_matrix_widen_t(const mote_matrix_s8_t *m, const int8_t *x, uint32_t *to);

static inline void mote_matrix_rescale(const mote_matrix_s8_t *m, int32_t *result) {
    for (int32_t i = 0; i < 4; i++) {
        result[i] = mote_rescale(result[i], m->mult, m->shift);
    }
}

static inline void mote_matrix_bytes(const mote_matrix_s8_t *m, int32_t row, const void *x, int32_t *result) {
    memcpy(result, m->start + row, 4 * sizeof(int32_t));
    mote_dot_1x4((const int8_t *)x, (const int8_t *)m->weights + row * ((m->depth + 3) & ~3), m->depth, result);
    mote_matrix_rescale(m, result);
}

/* All rows. */
MOTE_ALWAYS_INLINE void mote_matrix_gates(const mote_matrix_gate_t *g, mote_matrix_rows_t *products, int32_t rows,
                                          int16_t *gate) {
    for (int32_t c = 0; c < rows; c += 4) {
        int32_t now[4], before[4];
        products(g->input, c, g->x, now);
        products(g->recurrent, c, g->h, before);
        for (int32_t i = 0; i < mote_min(4, rows - c); i++) {
            gate[c + i] = (int16_t)mote_saturate_s16(mote_wrapping_add(mote_saturate_s16(now[i]), before[i]));
        }
    }
}

MOTE_ALWAYS_INLINE void mote_matrix_gates_bytes(const mote_matrix_gate_t *g, int32_t rows, int16_t *gate) {
    mote_matrix_gates(g, mote_matrix_bytes, rows, gate);
}

#endif
