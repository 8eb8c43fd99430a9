/* mote_depthwise_s8.h: int8 depthwise convolution, any window, four channels at a time.
 *
 * Weights are packed by the compiler as [block of 4 channels][tap][4]; the last block is padded with zeros.
 * Padding taps are skipped, so the input's zero point is subtracted from every input (free with SXTAB16).
 * With a depth multiplier above one the input channel of output channel c is c / multiplier.
 */
#ifndef MOTE_DEPTHWISE_S8_H
#define MOTE_DEPTHWISE_S8_H

#include "mote_depthwise_4_s8.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, channels, multiplier;
    int32_t in_zero;
    mote_output_t output;
    const int8_t *weights;
    const mote_channel_t *channel;
} mote_depthwise_s8_t;

/* One channel; `weights` points at its place in the block of four. */
static inline int32_t mote_depthwise_1(const mote_depthwise_view_t *v, int32_t channel, const int8_t *weights,
                                       int32_t sum) {
    for (int32_t k = 0; k < v->taps; k++, weights += v->pitch) {
        if (v->rows[k] != NULL) {
            const int8_t *x = v->rows[k] + v->first + channel;
            for (int32_t t = 0; t < v->cols; t++) {
                sum = MOTE_PLUS(sum, (x[t * v->step] - v->zero) * weights[t * 4]);
            }
        }
    }
    return sum;
}

/* The kernel `name` of a struct whose layer is `of(p)`: `four(p, v, c, w, sum)` and `one(p, v, c, w, sum)` add up what is
 * under the window, and `finish` rounds as mote_requantize does; `finish4(finish, sum, q, o, out)` does it for four. */
#define MOTE_DEPTHWISE_S8(name, of, window, four, one, finish4, finish) \
    MOTE_HOT MOTE_NOINLINE void mote_##name##_row(const mote_##name##_t *p, const int8_t *const *rows, int8_t *out) { \
        const mote_depthwise_s8_t *l = of(p); \
        const mote_span_t *s = &l->cols; \
        const mote_output_t o = l->output; \
        const int32_t m = l->multiplier, channels = l->channels, in_channels = l->in_channels; \
        const int32_t block = l->rows.taps * s->taps * 4; \
        for (int32_t x = 0; x < s->out_size; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            const mote_depthwise_view_t v = { \
                rows, l->rows.taps, hi - lo, (first + lo * s->spread) * in_channels, in_channels * s->spread, \
                s->taps * 4, l->in_zero}; \
            const int8_t *w = l->weights + lo * 4; \
            const mote_channel_t *q = l->channel; \
            int32_t c = 0; \
            if (m == 1) { \
                for (; c + 4 <= channels; c += 4, w += block, q += 4, out += 4) { \
                    int32_t sum[4] = {q[0].bias, q[1].bias, q[2].bias, q[3].bias}; \
                    four(p, &v, c, w, sum); \
                    finish4(finish, sum, q, o, out); \
                } \
            } \
            for (int32_t input = c, copy = 0; c < channels; c++, q++) { \
                const int32_t sum = one(p, &v, input, w + (c & 3), q->bias); \
                *out++ = finish(sum, q->mult, q->shift, o); \
                if ((c & 3) == 3) { \
                    w += block; \
                } \
                if (++copy == m) { \
                    copy = 0; \
                    input++; \
                } \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(name, int8_t, int8_t, s8, window)

#define MOTE_DEPTHWISE_ITSELF(p) (p)
#define MOTE_DEPTHWISE_4(p, v, c, w, sum) mote_depthwise_4(v, c, w, sum)
#define MOTE_DEPTHWISE_1(p, v, c, w, sum) mote_depthwise_1(v, c, w, sum)
#define MOTE_FINISH_UNROLLED(finish, sum, q, o, out) \
    (out)[0] = finish((sum)[0], (q)[0].mult, (q)[0].shift, o), (out)[1] = finish((sum)[1], (q)[1].mult, (q)[1].shift, o); \
    (out)[2] = finish((sum)[2], (q)[2].mult, (q)[2].shift, o), (out)[3] = finish((sum)[3], (q)[3].mult, (q)[3].shift, o)
#define MOTE_FINISH_LOOP(finish, sum, q, o, out) \
    for (int32_t i = 0; i < 4; i++) { \
        (out)[i] = finish((sum)[i], (q)[i].mult, (q)[i].shift, o); \
    }

MOTE_DEPTHWISE_S8(depthwise_s8, MOTE_DEPTHWISE_ITSELF, rows, MOTE_DEPTHWISE_4, MOTE_DEPTHWISE_1, MOTE_FINISH_UNROLLED,
                  mote_requantize)

#endif
