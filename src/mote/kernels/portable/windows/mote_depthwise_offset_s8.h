/* mote_depthwise_offset_s8.h: int8 depthwise convolution whose weights have 9 bits: those of a uint8 model, less their
 * zero point. A weight is a byte, packed as for mote_depthwise_s8.h, and an offset that all of them share, which is
 * added where the byte becomes a word. */
#ifndef MOTE_DEPTHWISE_OFFSET_S8_H
#define MOTE_DEPTHWISE_OFFSET_S8_H

#include "mote_depthwise_s8.h"

typedef struct {
    mote_depthwise_s8_t layer;
    int32_t offset;
} mote_depthwise_offset_s8_t;

/* One channel; `weights` points at its place in the block of four. */
static inline int32_t mote_depthwise_offset_1(const mote_depthwise_view_t *v, int32_t channel, const int8_t *weights,
                                            int32_t offset, int32_t sum) {
    for (int32_t k = 0; k < v->taps; k++, weights += v->pitch) {
        const int8_t *x = v->rows[k], *w = weights;
        if (x == NULL) {
            continue;
        }
        x += v->first + channel;
        for (int32_t t = v->cols; t > 0; t--, x += v->step, w += 4) {
            sum = MOTE_PLUS(sum, (*x - v->zero) * (*w + offset));
        }
    }
    return sum;
}

MOTE_HOT MOTE_NOINLINE void mote_depthwise_offset_s8_row(const mote_depthwise_offset_s8_t *all,
                                                         const int8_t *const *rows, int8_t *out) {
    const mote_depthwise_s8_t *p = &all->layer;
    const mote_span_t *s = &p->cols;
    const mote_output_t o = p->output;
    const int32_t m = p->multiplier, channels = p->channels, in_channels = p->in_channels, offset = all->offset;
    const int32_t block = p->rows.taps * s->taps * 4;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const mote_depthwise_view_t v = {
            rows, p->rows.taps, hi - lo, (first + lo * s->spread) * in_channels, in_channels * s->spread, s->taps * 4,
            p->in_zero};
        const int8_t *w = p->weights + lo * 4;
        const mote_channel_t *q = p->channel;
        int32_t c = 0;
        if (m == 1) {
            for (; c + 4 <= channels; c += 4, w += block, q += 4, out += 4) {
                int32_t sum[4] = {q[0].bias, q[1].bias, q[2].bias, q[3].bias};
                mote_depthwise_offset_4(&v, c, w, offset, sum);
                for (int32_t i = 0; i < 4; i++) {
                    out[i] = mote_requantize(sum[i], q[i].mult, q[i].shift, o);
                }
            }
        }
        for (int32_t input = c, copy = 0; c < channels; c++, q++) {
            const int32_t sum = mote_depthwise_offset_1(&v, input, w + (c & 3), offset, q->bias);
            *out++ = mote_requantize(sum, q->mult, q->shift, o);
            if ((c & 3) == 3) {
                w += block;
            }
            if (++copy == m) {
                copy = 0;
                input++;
            }
        }
    }
}

MOTE_BY_ROWS(depthwise_offset_s8, int8_t, s8, layer.rows)

#endif
