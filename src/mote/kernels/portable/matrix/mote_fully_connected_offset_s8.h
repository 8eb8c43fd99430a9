/* mote_fully_connected_offset_s8.h: int8 fully connected layer whose weights have 9 bits: a byte, packed as for
 * mote_fully_connected_s8.h or, with tables of steps, as in the model, and an offset that all of them share. */
#ifndef MOTE_FULLY_CONNECTED_OFFSET_S8_H
#define MOTE_FULLY_CONNECTED_OFFSET_S8_H

#include "mote_fully_connected_steps_s8.h"
#include "mote_offset_part.h"

typedef struct {
    mote_fully_connected_s8_t layer;
    int32_t offset;
} mote_fully_connected_offset_s8_t;

typedef struct {
    mote_fully_connected_steps_s8_t layer;
    int32_t offset;
} mote_fully_connected_offset_steps_s8_t;

static inline void mote_fully_connected_offset_s8(const mote_fully_connected_offset_s8_t *p, const int8_t *in,
                                                  int8_t *out, int32_t vectors) {
    const int32_t once = p->layer.round_once, depth = p->layer.depth;
    const mote_output_t o = p->layer.output;
    for (; vectors > 0; vectors--, in += depth) {
        const int32_t part = mote_offset_part(in, depth, p->offset);
        const int8_t *w = p->layer.weights;
        const mote_channel_t *q = p->layer.channel;
        int32_t c = p->layer.channels;
        for (; c > 3; c -= 4, w += (depth + 3) / 4 * 16) {
            int32_t sum[4];
            for (int32_t i = 0; i < 4; i++) {
                sum[i] = MOTE_PLUS(q[i].bias, part);
            }
            mote_dot_1x4(in, w, depth, sum);
            for (int32_t i = 0; i < 4; i++, q++) {
                *out++ = mote_finish_fc(sum[i], q, once, o);
            }
        }
        for (; c > 0; c--, q++, w += depth) {
            *out++ = mote_finish_fc(mote_dot_1x1(in, w, depth, MOTE_PLUS(q->bias, part)), q, once, o);
        }
    }
}

static inline void mote_fully_connected_offset_steps_s8(const mote_fully_connected_offset_steps_s8_t *p,
                                                        const int8_t *in, int8_t *out, int32_t vectors) {
    const mote_fully_connected_steps_s8_t *l = &p->layer;
    for (; vectors > 0; vectors--, in += l->depth) {
        const int32_t part = mote_offset_part(in, l->depth, p->offset);
        const int8_t *w = l->weights;
        for (int32_t c = 0; c < l->channels; c++, w += l->depth) {
            const int32_t sum = mote_dot_1x1(in, w, l->depth, MOTE_PLUS(l->start[c], part));
            *out++ = mote_clamp(mote_steps_reached(sum, l->steps + c * l->step), l->output.lo, l->output.hi);
        }
    }
}

#endif
