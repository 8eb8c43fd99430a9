/* mote_matrix_s8_fits.h: whether a matrix of mote_matrix_s8.h lies in the image. */
#ifndef MOTE_MATRIX_S8_FITS_H
#define MOTE_MATRIX_S8_FITS_H

#include "mote_elements_fits.h"
#include "mote_matrix_s8.h"

/* A number that is not too large, up to the next multiple of `unit`. */
static inline int32_t mote_padded(int32_t n, int32_t unit) {
    return mote_within(n, 1, MOTE_LARGEST) ? (n + unit - 1) / unit * unit : -1;
}

/* Bytes of a vector that is widened. */
static inline uint32_t mote_widened(int32_t depth) { return mote_bytes_of(mote_padded(depth, 8), 2, 1); }

/* Rows are padded to a multiple of `unit`. */
static inline int mote_matrix_padded_fit(const mote_matrix_s8_t *m, const mote_room_t *room, int32_t rows,
                                         int32_t unit) {
    return mote_rescales(m->shift) &&
           mote_holds(room, m->weights, mote_bytes_of(mote_padded(rows, 4), mote_padded(m->depth, unit), 1), 1) &&
           mote_holds(room, m->start, mote_bytes_of(mote_padded(rows, 4), 4, 1), 4);
}

static inline int mote_matrix_bytes_fit(const mote_matrix_s8_t *m, const mote_room_t *room, int32_t rows) {
    return mote_matrix_padded_fit(m, room, rows, 4);
}

static inline int mote_matrix_vectors_fit(const mote_matrix_s8_t *m, const mote_room_t *room, int32_t rows) {
    return mote_matrix_padded_fit(m, room, rows, 16);
}

/* Where sums begin and the weights of four rows, a word of pairs for each input, `block` words from one to the next. */
static inline int mote_matrix_pairs_fit(const mote_matrix_s8_t *m, const mote_room_t *room, int32_t rows) {
    const uint32_t last = mote_bytes_of(mote_padded(rows, 4) / 4 - 1, m->block, 4);
    const uint32_t four = mote_much_plus(16, mote_much_times(mote_widened(m->depth), 2));
    return mote_rescales(m->shift) && mote_within(rows, 1, MOTE_LARGEST) &&
           mote_holds(room, m->weights, mote_much_plus(last, four), 4);
}

typedef int mote_matrix_fits_t(const mote_matrix_s8_t *m, const mote_room_t *room, int32_t rows);

#endif
