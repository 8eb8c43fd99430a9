/* mote_l2_pool_f32.h: the roots of the means of float32 squares over any window; padding takes no part. */
#ifndef MOTE_L2_POOL_F32_H
#define MOTE_L2_POOL_F32_H

#include "mote_math.h"
#include "mote_pool_f32.h"

typedef mote_pool_f32_t mote_l2_pool_f32_t;

static inline void mote_l2_pool_f32_row(const mote_l2_pool_f32_t *p, const float *const *rows, float *out) {
    const mote_span_t *s = &p->cols;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        for (int32_t c = 0; c < p->channels; c++) {
            float squares = 0.0f;
            int32_t count = 0;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] == NULL) {
                    continue;
                }
                for (int32_t t = lo; t < hi; t++, count++) {
                    const float v = rows[k][(first + t) * p->channels + c];
                    squares += v * v;
                }
            }
            *out++ = mote_clamp_f32(mote_sqrtf(squares / (float)count), p->low, p->high);
        }
    }
}

static inline void mote_l2_pool_f32(const mote_l2_pool_f32_t *p, const float *in, float *out, int32_t lo, int32_t hi) {
    const float *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_f32(&p->rows, in, y, rows);
        mote_l2_pool_f32_row(p, rows, out + y * p->rows.out_stride);
    }
}

#endif
