/* mote_depthwise_f32.h: float32 depthwise convolution, any window and depth multiplier. */
#ifndef MOTE_DEPTHWISE_F32_H
#define MOTE_DEPTHWISE_F32_H

#include "mote_common.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, channels, multiplier;
    float low, high;
    const float *weights; /* [kernel rows][kernel columns][channels] */
    const float *bias;
} mote_depthwise_f32_t;

/* `with(sum, v, w)` adds a product, `finish(p, c, sum)` is what becomes of the sum of output channel c. */
#define MOTE_DEPTHWISE_REAL(name, weight_t, with, finish) \
    static inline void mote_##name##_row(const mote_##name##_t *p, const float *const *rows, float *out) { \
        const mote_span_t *s = &p->cols; \
        const int32_t in_channels = p->in_channels; \
        for (int32_t x = 0; x < s->out_size; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            for (int32_t input = 0, c = 0; input < in_channels; input++) { \
                for (int32_t m = 0; m < p->multiplier; m++, c++) { \
                    float sum = 0.0f; \
                    for (int32_t k = 0; k < p->rows.taps; k++) { \
                        const weight_t *w = p->weights + k * s->taps * p->channels + c; \
                        if (rows[k] == NULL) { \
                            continue; \
                        } \
                        for (int32_t t = lo; t < hi; t++) { \
                            const float v = rows[k][(first + t * s->spread) * in_channels + input]; \
                            sum = with(sum, v, w[t * p->channels]); \
                        } \
                    } \
                    *out++ = finish(p, c, sum); \
                } \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(name, float, f32, rows)

#define MOTE_DEPTHWISE_F32_FINISH(p, c, sum) mote_clamp_f32((sum) + (p)->bias[c], (p)->low, (p)->high)
MOTE_DEPTHWISE_REAL(depthwise_f32, float, mote_add_product_f32, MOTE_DEPTHWISE_F32_FINISH)

#endif
