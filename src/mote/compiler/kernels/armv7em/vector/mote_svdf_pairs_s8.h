/* mote_svdf_pairs_s8.h: mote_svdf_s8.h with pairs of weights. */
#ifndef MOTE_SVDF_PAIRS_S8_H
#define MOTE_SVDF_PAIRS_S8_H

#include "mote_matrix_pairs_s8.h"
#include "mote_svdf_s8.h"

typedef mote_svdf_s8_t mote_svdf_pairs_s8_t;

/* Scratch: two bytes for each input, padded to a multiple of eight. */
static inline void mote_svdf_pairs_s8(const mote_svdf_pairs_s8_t *p, const int8_t *in, int16_t *state, int8_t *out,
                                      uint32_t *scratch) {
    for (int32_t b = 0; b < p->batch; b++, in += p->filters.depth, out += p->units) {
        mote_matrix_widen(&p->filters, in, scratch);
        mote_svdf_s8_vector(p, mote_matrix_pairs, scratch, state + b * p->units * p->rank * p->memory, out);
    }
}

#endif
