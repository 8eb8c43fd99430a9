/* mote_conv2d_f32.h: float32 convolution of any kernel size, stride, dilation and padding. */
#ifndef MOTE_CONV2D_F32_H
#define MOTE_CONV2D_F32_H

#include "mote_dot_f32.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, out_channels;
    float low, high;      /* the fused activation */
    const float *weights; /* [out][kernel rows][kernel columns][in] */
    const float *bias;
} mote_conv2d_f32_t;

/* `with(sum, x, w, n)` adds n products, `finish(p, c, sum)` is what becomes of the sum of output channel c. */
#define MOTE_CONV2D_REAL(name, weight_t, with, finish) \
    /* The sum of one output whose window begins in column `first`, with columns lo..hi-1 inside the image. */ \
    static inline float mote_##name##_sum(const mote_##name##_t *p, const float *const *rows, int32_t first, int32_t lo, \
                                          int32_t hi, const weight_t *w) { \
        const mote_span_t *s = &p->cols; \
        const int32_t c = p->in_channels, line = s->taps * c; \
        float sum = 0.0f; \
        for (int32_t k = 0; k < p->rows.taps; k++, w += line) { \
            if (rows[k] == NULL || hi <= lo) { \
                continue; \
            } \
            if (s->spread == 1) { \
                sum = with(sum, rows[k] + (first + lo) * c, w + lo * c, (hi - lo) * c); \
            } else { \
                for (int32_t t = lo; t < hi; t++) { \
                    sum = with(sum, rows[k] + (first + t * s->spread) * c, w + t * c, c); \
                } \
            } \
        } \
        return sum; \
    } \
\
    static inline void mote_##name##_row(const mote_##name##_t *p, const float *const *rows, float *out) { \
        const mote_span_t *s = &p->cols; \
        for (int32_t x = 0; x < s->out_size; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            const weight_t *w = p->weights; \
            for (int32_t o = 0; o < p->out_channels; o++, w += p->rows.taps * s->taps * p->in_channels) { \
                const float sum = mote_##name##_sum(p, rows, first, lo, hi, w); \
                *out++ = finish(p, o, sum); \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(name, float, f32, rows)

#define MOTE_CONV2D_F32_FINISH(p, c, sum) mote_clamp_f32((sum) + (p)->bias[c], (p)->low, (p)->high)
MOTE_CONV2D_REAL(conv2d_f32, float, mote_dot_f32, MOTE_CONV2D_F32_FINISH)

#endif
