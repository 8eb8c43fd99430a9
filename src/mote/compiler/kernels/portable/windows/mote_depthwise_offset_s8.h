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

#define MOTE_DEPTHWISE_OFFSET(p) (&(p)->layer)
#define MOTE_DEPTHWISE_OFFSET_4(p, v, c, w, sum) mote_depthwise_offset_4(v, c, w, (p)->offset, sum)
#define MOTE_DEPTHWISE_OFFSET_1(p, v, c, w, sum) mote_depthwise_offset_1(v, c, w, (p)->offset, sum)

MOTE_DEPTHWISE_S8(depthwise_offset_s8, MOTE_DEPTHWISE_OFFSET, layer.rows, MOTE_DEPTHWISE_OFFSET_4,
                  MOTE_DEPTHWISE_OFFSET_1, MOTE_FINISH_LOOP, mote_requantize)

#endif
