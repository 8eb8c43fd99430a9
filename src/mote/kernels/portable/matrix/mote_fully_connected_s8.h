/* mote_fully_connected_s8.h: int8 fully connected layer on one vector, four outputs at a time, and what is left of them
 * one by one.
 *
 * LiteRT's reference rounds this layer's result once, TensorFlow Lite Micro twice; `round_once` says which.
 * Weights are packed by the compiler as [block of 4 outputs][4 inputs][4 outputs][4], the inputs padded; those of the
 * last outputs, fewer than four, lie as in the model.
 */
#ifndef MOTE_FULLY_CONNECTED_S8_H
#define MOTE_FULLY_CONNECTED_S8_H

#include "mote_dot_s8.h"

typedef struct {
    int32_t depth, channels, round_once;
    mote_output_t output;
    const int8_t *weights;
    const mote_channel_t *channel;
} mote_fully_connected_s8_t;

/* x * mult / 2^31 / 2^(shift + 1), rounded once, halves up. With a right shift above one the rounding bit
 * lies in the product's high word, which is then all that matters. */
static inline int32_t mote_rescale_once(int32_t x, int32_t mult, int32_t shift) {
    const int64_t product = (int64_t)x * mult;
    if (shift > 0) {
        return ((int32_t)(product >> 32) + ((int32_t)1 << (shift - 1))) >> shift;
    }
    return (int32_t)((product + ((int64_t)1 << (31 + shift))) >> (32 + shift));
}

static inline int8_t mote_finish_fc(int32_t sum, const mote_channel_t *q, int32_t once, mote_output_t o) {
    const int32_t y = once ? mote_rescale_once(sum, q->mult, q->shift) : mote_rescale(sum, q->mult, q->shift);
    return mote_clamp(MOTE_PLUS(y, o.zero), o.lo, o.hi);
}

static inline void mote_fully_connected_s8(const mote_fully_connected_s8_t *p, const int8_t *in, int8_t *out,
                                           int32_t vectors) {
    const int32_t once = p->round_once;
    const mote_output_t o = p->output;
    for (; vectors > 0; vectors--, in += p->depth) {
        const int8_t *w = p->weights;
        const mote_channel_t *q = p->channel;
        int32_t c = p->channels;
        for (; c > 3; c -= 4, q += 4, w += (p->depth + 3) / 4 * 16) {
            int32_t sum[4] = {q[0].bias, q[1].bias, q[2].bias, q[3].bias};
            mote_dot_1x4(in, w, p->depth, sum);
            for (int32_t i = 0; i < 4; i++) {
                *out++ = mote_finish_fc(sum[i], q + i, once, o);
            }
        }
        for (; c > 0; c--, q++, w += p->depth) {
            *out++ = mote_finish_fc(mote_dot_1x1(in, w, p->depth, q->bias), q, once, o);
        }
    }
}

#endif
