/* mote_depthwise_add_s8.h: int8 depthwise convolution to a single row, one input row at a time. */
#ifndef MOTE_DEPTHWISE_ADD_S8_H
#define MOTE_DEPTHWISE_ADD_S8_H

#include "mote_depthwise_s8.h"
#include "mote_running_sums.h"

typedef mote_depthwise_s8_t mote_depthwise_add_s8_t;

static inline void mote_depthwise_add_s8(const mote_depthwise_add_s8_t *p, const int8_t *row, int32_t tap, int32_t part,
                                         int32_t *sums, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t m = p->multiplier, channels = p->channels, in_channels = p->in_channels;
    const int32_t block = p->rows.taps * s->taps * 4;
    int32_t *sum = sums;
    if (part & MOTE_FIRST) {
        mote_begin_sums(p->channel, channels, s->out_size, sums);
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const mote_depthwise_view_t v = {
            &row, 1, hi - lo, (first + lo * s->spread) * in_channels, in_channels * s->spread, 0, p->in_zero};
        const int8_t *w = p->weights + (tap * s->taps + lo) * 4;
        int32_t c = 0;
        if (m == 1) {
            for (; c + 4 <= channels; c += 4, w += block, sum += 4) {
                mote_depthwise_4(&v, c, w, sum);
            }
        }
        for (int32_t input = c, copy = 0; c < channels; c++, sum++) {
            *sum = mote_depthwise_1(&v, input, w + (c & 3), *sum);
            if ((c & 3) == 3) {
                w += block;
            }
            if (++copy == m) {
                copy = 0;
                input++;
            }
        }
    }
    if (part & MOTE_LAST) {
        mote_finish_sums(p->channel, channels, s->out_size, p->output, sums, out);
    }
}

#endif
