/* mote_conv2d_hybrid.h: float32 convolution with int8 weights: see mote_conv2d_f32.h. */
#ifndef MOTE_CONV2D_HYBRID_H
#define MOTE_CONV2D_HYBRID_H

#include "mote_dot_hybrid.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, out_channels;
    float low, high;       /* the fused activation */
    const int8_t *weights; /* [out][kernel rows][kernel columns][in] */
    const float *scale;    /* of each channel's weights, or one for all */
    int32_t step;          /* from one channel's scale to the next: 0 where all have the same */
    const float *bias;
} mote_conv2d_hybrid_t;

static inline void mote_conv2d_hybrid_row(const mote_conv2d_hybrid_t *p, const float *const *rows, float *out) {
    const mote_span_t *s = &p->cols;
    const int32_t c = p->in_channels, line = s->taps * c;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const int8_t *w = p->weights + lo * c;
        for (int32_t o = 0; o < p->out_channels; o++, w += p->rows.taps * line) {
            float sum = 0.0f;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] == NULL || hi <= lo) {
                    continue;
                }
                if (s->spread == 1) {
                    sum += mote_dot_hybrid(rows[k] + (first + lo) * c, w + k * line, (hi - lo) * c);
                } else {
                    for (int32_t t = lo; t < hi; t++) {
                        sum += mote_dot_hybrid(rows[k] + (first + t * s->spread) * c, w + k * line + (t - lo) * c, c);
                    }
                }
            }
            *out++ = mote_clamp_f32(p->bias[o] + p->scale[o * p->step] * sum, p->low, p->high);
        }
    }
}

static inline void mote_conv2d_hybrid(const mote_conv2d_hybrid_t *p, const float *in, float *out, int32_t lo,
                                      int32_t hi) {
    const float *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_f32(&p->rows, in, y, rows);
        mote_conv2d_hybrid_row(p, rows, out + y * p->rows.out_stride);
    }
}

#endif
