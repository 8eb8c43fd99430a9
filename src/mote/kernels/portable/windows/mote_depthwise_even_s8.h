/* mote_depthwise_even_s8.h: int8 depthwise convolution with sums that are rounded as mote_even.h says; see
 * mote_depthwise_s8.h for weights and windows. */
#ifndef MOTE_DEPTHWISE_EVEN_S8_H
#define MOTE_DEPTHWISE_EVEN_S8_H

#include "mote_depthwise_s8.h"
#include "mote_even.h"

typedef mote_depthwise_s8_t mote_depthwise_even_s8_t;

MOTE_HOT MOTE_NOINLINE void mote_depthwise_even_s8_row(const mote_depthwise_even_s8_t *p, const int8_t *const *rows,
                                                       int8_t *out) {
    const mote_span_t *s = &p->cols;
    const mote_output_t o = p->output;
    const int32_t m = p->multiplier, channels = p->channels, in_channels = p->in_channels;
    const int32_t block = p->rows.taps * s->taps * 4;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const mote_depthwise_view_t v = {
            rows, p->rows.taps, hi - lo, (first + lo * s->spread) * in_channels, in_channels * s->spread, s->taps * 4,
            p->in_zero};
        const int8_t *w = p->weights + lo * 4;
        const mote_channel_t *q = p->channel;
        for (int32_t c = 0; c < channels; c += 4, w += block) {
            const int32_t count = mote_min(channels - c, 4);
            int32_t sum[4];
            for (int32_t i = 0; i < count; i++) {
                sum[i] = q[i].bias;
            }
            if (m == 1 && count == 4) {
                mote_depthwise_4(&v, c, w, sum);
            } else {
                for (int32_t i = 0; i < count; i++) {
                    sum[i] = mote_depthwise_1(&v, (c + i) / m, w + i, sum[i]);
                }
            }
            for (int32_t i = 0; i < count; i++, q++) {
                *out++ = mote_requantize_even(sum[i], q->mult, q->shift, o);
            }
        }
    }
}

MOTE_BY_ROWS(depthwise_even_s8, int8_t, s8, rows)

#endif
