/* mote_fully_connected_even_s8.h: int8 fully connected layer with sums that are rounded as mote_even.h says; see
 * mote_fully_connected_s8.h, which is for layers that have constants for rounding once. */
#ifndef MOTE_FULLY_CONNECTED_EVEN_S8_H
#define MOTE_FULLY_CONNECTED_EVEN_S8_H

#include "mote_even.h"

typedef mote_fully_connected_s8_t mote_fully_connected_even_s8_t;

static inline void mote_fully_connected_even_s8(const mote_fully_connected_even_s8_t *p, const int8_t *in, int8_t *out,
                                                int32_t vectors) {
    const mote_output_t o = p->output;
    for (; vectors > 0; vectors--, in += p->depth) {
        const int8_t *w = p->weights;
        const mote_channel_t *q = p->channel;
        int32_t c = p->channels;
        for (; c > 3; c -= 4, q += 4, w += (p->depth + 3) / 4 * 16) {
            int32_t sum[4] = {q[0].bias, q[1].bias, q[2].bias, q[3].bias};
            mote_dot_1x4(in, w, p->depth, sum);
            for (int32_t i = 0; i < 4; i++) {
                *out++ = mote_requantize_even(sum[i], q[i].mult, q[i].shift, o);
            }
        }
        for (; c > 0; c--, q++, w += p->depth) {
            *out++ = mote_requantize_even(mote_dot_1x1(in, w, p->depth, q->bias), q->mult, q->shift, o);
        }
    }
}

#endif
