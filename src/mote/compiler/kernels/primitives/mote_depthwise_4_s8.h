/* mote_depthwise_4_s8.h: the sums of int8 depthwise convolutions, four neighbouring channels at a time. */
#ifndef MOTE_DEPTHWISE_4_S8_H
#define MOTE_DEPTHWISE_4_S8_H

#include "mote_common.h"

/* A window as the inner loops see it: `cols` taps of each row, `step` elements apart, from `first` on; the rows'
 * weights are `pitch` apart. */
typedef struct {
    const int8_t *const *rows;
    int32_t taps, cols, first, step, pitch, zero;
} mote_depthwise_view_t;

#include "mote_depthwise_4_s8_dsp.h"

#ifndef mote_depthwise_4
static inline void mote_depthwise_4(const mote_depthwise_view_t *v, int32_t channel, const int8_t *weights,
                                    int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    const int32_t cols = v->cols, step = v->step, zero = v->zero;
    for (int32_t k = 0; k < v->taps; k++, weights += v->pitch) {
        const int8_t *x = v->rows[k], *w = weights;
        if (x == NULL) {
            continue;
        }
        x += v->first + channel;
        for (int32_t t = cols; t > 0; t--, x += step, w += 4) {
            a = MOTE_PLUS(a, (x[0] - zero) * w[0]);
            b = MOTE_PLUS(b, (x[1] - zero) * w[1]);
            c = MOTE_PLUS(c, (x[2] - zero) * w[2]);
            d = MOTE_PLUS(d, (x[3] - zero) * w[3]);
        }
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#endif

/* With weights that have 9 bits: a byte, and an offset that all of them share. */
#ifndef mote_depthwise_offset_4
static inline void mote_depthwise_offset_4(const mote_depthwise_view_t *v, int32_t channel, const int8_t *weights,
                                         int32_t offset, int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    const int32_t step = v->step, zero = v->zero;
    for (int32_t k = 0; k < v->taps; k++, weights += v->pitch) {
        const int8_t *x = v->rows[k], *w = weights;
        if (x == NULL) {
            continue;
        }
        x += v->first + channel;
        for (int32_t t = v->cols; t > 0; t--, x += step, w += 4) {
            a = MOTE_PLUS(a, (x[0] - zero) * (w[0] + offset));
            b = MOTE_PLUS(b, (x[1] - zero) * (w[1] + offset));
            c = MOTE_PLUS(c, (x[2] - zero) * (w[2] + offset));
            d = MOTE_PLUS(d, (x[3] - zero) * (w[3] + offset));
        }
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#endif

#endif
