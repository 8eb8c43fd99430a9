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

/* The kernel `name` of a struct whose layer is `of(p)`: `part_of(p, in, depth)` is added to the sums of a
 * vector, and `finish(sum, q, once, o)` is what becomes of one. */
#define MOTE_FULLY_CONNECTED_S8(name, of, part_of, finish) \
    static inline void mote_##name(const mote_##name##_t *p, const int8_t *in, int8_t *out, int32_t vectors) { \
        const mote_fully_connected_s8_t *l = of(p); \
        const int32_t once = l->round_once; \
        const mote_output_t o = l->output; \
        (void)once; \
        for (; vectors > 0; vectors--, in += l->depth) { \
            const int32_t part = part_of(p, in, l->depth); \
            const int8_t *w = l->weights; \
            const mote_channel_t *q = l->channel; \
            int32_t c = l->channels; \
            for (; c > 3; c -= 4, q += 4, w += (l->depth + 3) / 4 * 16) { \
                int32_t sum[4] = {MOTE_PLUS(q[0].bias, part), MOTE_PLUS(q[1].bias, part), MOTE_PLUS(q[2].bias, part), \
                                  MOTE_PLUS(q[3].bias, part)}; \
                mote_dot_1x4(in, w, l->depth, sum); \
                for (int32_t i = 0; i < 4; i++) { \
                    *out++ = finish(sum[i], q + i, once, o); \
                } \
            } \
            for (; c > 0; c--, q++, w += l->depth) { \
                *out++ = finish(mote_dot_1x1(in, w, l->depth, MOTE_PLUS(q->bias, part)), q, once, o); \
            } \
        } \
    }

#define MOTE_FC_ITSELF(p) (p)
#define MOTE_FC_NO_PART(p, in, depth) 0
MOTE_FULLY_CONNECTED_S8(fully_connected_s8, MOTE_FC_ITSELF, MOTE_FC_NO_PART, mote_finish_fc)

#endif
