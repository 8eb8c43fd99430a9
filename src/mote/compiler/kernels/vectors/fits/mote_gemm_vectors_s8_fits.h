/* mote_gemm_vectors_s8_fits.h: checks of the parameters of mote_gemm_vectors_s8.h. */
#ifndef MOTE_GEMM_VECTORS_S8_FITS_H
#define MOTE_GEMM_VECTORS_S8_FITS_H

#include "mote_gemm_vectors_s8.h"
#include "mote_vectors_fits.h"

/* Whether there are weights for windows of so many runs, and constants. */
static inline int mote_gemm_vectors_fit(const mote_gemm_vectors_t *g, const mote_room_t *room, int32_t runs) {
    return mote_counts(g->channels | g->fours) && mote_blocks_fit(g->block, room, g->channels, g->once ? 1 : 0) &&
           mote_array_fits(room, g->weights, mote_blocks_of(g->channels), runs, g->fours, 4 * MOTE_VECTOR_BLOCK, 1);
}

/* Whether there is working memory for so many rows of widened inputs, and for those behind each that are not multiplied. */
static inline int mote_factors_fit(const mote_room_t *room, int32_t rows, uint32_t inputs) {
    return mote_much_times(mote_much_times(mote_much_plus(inputs, 3), mote_size(rows)), 2) <= room->scratch;
}

static inline int mote_conv2d_vectors_fit(const mote_conv2d_vectors_s8_t *p, const mote_room_t *room) {
    const mote_span_t *s = &p->cols;
    const int32_t taps = p->rows.taps, depth = p->in_channels, columns = depth > 0 ? p->width / depth : 0;
    const int32_t runs = s->spread == 1 ? 1 : s->taps, run = s->spread == 1 ? s->taps : 1;
    return mote_within(taps, 1, MOTE_MAX_TAPS) && columns > 0 && columns * depth == p->width &&
           mote_columns_fit(s, columns) && 4 * p->gemm.fours <= run * depth + 3 &&
           mote_gemm_vectors_fit(&p->gemm, room, taps * runs) && mote_factors_fit(room, taps, mote_size(p->width));
}

#endif
