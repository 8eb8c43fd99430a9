/* mote_conv2d_f32.h: float32 convolution of any kernel size, stride, dilation and padding. */
#ifndef MOTE_CONV2D_F32_H
#define MOTE_CONV2D_F32_H

#include "mote_common.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, out_channels;
    float low, high;      /* the fused activation */
    const float *weights; /* [out][kernel rows][kernel columns][in] */
    const float *bias;
} mote_conv2d_f32_t;

/* The products are added up one after another, as the reference does, so that nothing but what a core fuses differs. */
static inline float mote_dot_f32(float sum, const float *x, const float *w, int32_t n) {
    for (; n >= 4; n -= 4, x += 4, w += 4) {
        sum += x[0] * w[0];
        sum += x[1] * w[1];
        sum += x[2] * w[2];
        sum += x[3] * w[3];
    }
    for (; n > 0; n--) {
        sum += *x++ * *w++;
    }
    return sum;
}

static inline void mote_conv2d_f32_row(const mote_conv2d_f32_t *p, const float *const *rows, float *out) {
    const mote_span_t *s = &p->cols;
    const int32_t c = p->in_channels, line = s->taps * c;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const float *w = p->weights + lo * c;
        for (int32_t o = 0; o < p->out_channels; o++, w += p->rows.taps * line) {
            float sum = 0.0f;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] == NULL || hi <= lo) {
                    continue;
                }
                if (s->spread == 1) {
                    sum = mote_dot_f32(sum, rows[k] + (first + lo) * c, w + k * line, (hi - lo) * c);
                } else {
                    for (int32_t t = lo; t < hi; t++) {
                        sum = mote_dot_f32(sum, rows[k] + (first + t * s->spread) * c, w + k * line + (t - lo) * c, c);
                    }
                }
            }
            *out++ = mote_clamp_f32(sum + p->bias[o], p->low, p->high);
        }
    }
}

static inline void mote_conv2d_f32(const mote_conv2d_f32_t *p, const float *in, float *out, int32_t lo, int32_t hi) {
    const float *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_f32(&p->rows, in, y, rows);
        mote_conv2d_f32_row(p, rows, out + y * p->rows.out_stride);
    }
}

#endif
