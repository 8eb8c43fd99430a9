/* mote_svdf_s8.h: int8 SVDF: each filter turns the input into one number, remembers the last `memory` of them and
 * weights them; `rank` filters make a unit of the output. */
#ifndef MOTE_SVDF_S8_H
#define MOTE_SVDF_S8_H

#include "mote_dot_s16.h"
#include "mote_fixed_s16.h"
#include "mote_matrix_s8.h"

typedef struct {
    int32_t batch, units, rank, memory;
    mote_matrix_s8_t filters;
    int32_t mult, shift, zero; /* of the output */
    const int16_t *time;       /* [filter][memory] */
    const int32_t *bias;       /* of each unit */
} mote_svdf_s8_t;

MOTE_ALWAYS_INLINE void mote_svdf_s8_vector(const mote_svdf_s8_t *p, mote_matrix_rows_t *rows, const void *x,
                                            int16_t *state, int8_t *out) {
    const int16_t *time = p->time;
    int32_t newest[4], f = 0;
    for (int32_t unit = 0; unit < p->units; unit++) {
        int32_t sum = p->bias[unit];
        for (int32_t r = 0; r < p->rank; r++, f++, state += p->memory, time += p->memory) {
            if (f % 4 == 0) {
                rows(&p->filters, f, x, newest);
            }
            sum = mote_remember_s16(state, time, p->memory, mote_saturate_s16(newest[f % 4]), sum);
        }
        out[unit] = mote_clamp(mote_wrapping_add(mote_rescale(sum, p->mult, p->shift), p->zero), -128, 127);
    }
}

static inline void mote_svdf_s8(const mote_svdf_s8_t *p, const int8_t *in, int16_t *state, int8_t *out) {
    for (int32_t b = 0; b < p->batch; b++, in += p->filters.depth, out += p->units) {
        mote_svdf_s8_vector(p, mote_matrix_bytes, in, state + b * p->units * p->rank * p->memory, out);
    }
}

#endif
