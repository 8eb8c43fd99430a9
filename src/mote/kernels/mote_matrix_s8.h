/* mote_matrix_s8.h: int8 matrix times vector, four rows at a time, for layers that go on with more than int8.
 *
 * Weights are packed by the compiler as [block of 4 rows][4 inputs][4 rows][4], both ends padded with zeros.
 */
#ifndef MOTE_MATRIX_S8_H
#define MOTE_MATRIX_S8_H

#include "mote_fully_connected_s8.h"

typedef struct {
    int32_t depth;
    int32_t mult, shift; /* of the results: see mote_rescale */
    const int8_t *weights;
    const int32_t *start; /* of each row's sum; padded to a multiple of four */
} mote_matrix_s8_t;

/* Rows `row` to row + 3 of the product, rescaled. `row` is a multiple of four. */
static inline void mote_matrix_s8_four(const mote_matrix_s8_t *m, int32_t row, const int8_t *x, int32_t *result) {
    memcpy(result, m->start + row, 4 * sizeof(int32_t));
    mote_dot_1x4(x, m->weights + row * ((m->depth + 3) & ~3), m->depth, result);
    for (int32_t i = 0; i < 4; i++) {
        result[i] = mote_rescale(result[i], m->mult, m->shift);
    }
}

#endif
