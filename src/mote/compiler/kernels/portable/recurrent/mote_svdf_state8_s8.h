/* mote_svdf_state8_s8.h: int8 SVDF as mote_svdf_s8.h has it, with a state and weights over time of 8 bits, as TensorFlow
 * Lite Micro computes it. */
#ifndef MOTE_SVDF_STATE8_S8_H
#define MOTE_SVDF_STATE8_S8_H

#include "mote_matrix_s8.h"

typedef struct {
    int32_t batch, units, rank, memory;
    mote_matrix_s8_t filters;
    int32_t kept_zero;         /* zero point of the state */
    int32_t mult, shift, zero; /* of the output */
    const int8_t *time;        /* [filter][memory] */
    const int32_t *start;      /* of each unit: its bias, less kept_zero times its weights over time */
} mote_svdf_state8_s8_t;

/* A number as the state holds it: saturated before the zero point is added, which wraps. */
static inline int8_t mote_svdf_state8_kept(int32_t x, int32_t zero) {
    const int32_t kept = mote_clamp(x, -128, 127) + zero;
    return (int8_t)(kept > 127 ? kept - 256 : kept < -128 ? kept + 256 : kept);
}

MOTE_ALWAYS_INLINE void mote_svdf_state8_vector(const mote_svdf_state8_s8_t *p, mote_matrix_rows_t *rows, const void *x,
                                                int8_t *state, int8_t *out) {
    const int32_t last = p->memory - 1;
    const int8_t *time = p->time;
    int32_t newest[4], f = 0;
    for (int32_t unit = 0; unit < p->units; unit++) {
        int32_t sum = p->start[unit];
        for (int32_t r = 0; r < p->rank; r++, f++, state += p->memory, time += p->memory) {
            if (f % 4 == 0) {
                rows(&p->filters, f, x, newest);
            }
            memmove(state, state + 1, (size_t)last);
            state[last] = mote_svdf_state8_kept(newest[f % 4], p->kept_zero);
            sum = mote_dot_1x1(state, time, p->memory, sum);
        }
        out[unit] = mote_clamp(mote_wrapping_add(mote_rescale(sum, p->mult, p->shift), p->zero), -128, 127);
    }
}

static inline void mote_svdf_state8_s8(const mote_svdf_state8_s8_t *p, const int8_t *in, int8_t *state, int8_t *out) {
    for (int32_t b = 0; b < p->batch; b++, in += p->filters.depth, out += p->units) {
        mote_svdf_state8_vector(p, mote_matrix_bytes, in, state + b * p->units * p->rank * p->memory, out);
    }
}

#endif
