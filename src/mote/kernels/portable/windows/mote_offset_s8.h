/* mote_offset_s8.h: int8 convolutions whose weights have 9 bits: those of a uint8 model, less their zero point.
 *
 * A weight is a byte and an offset that all of them share, so that a sum has the offset times the sum of its inputs on
 * top, which is the same for all channels of a pixel.
 */
#ifndef MOTE_OFFSET_S8_H
#define MOTE_OFFSET_S8_H

#include "mote_conv2d_s8.h"
#include "mote_offset_part.h"
#include "mote_pointwise_s8.h"

typedef struct {
    mote_gemm_s8_t gemm;
    int32_t offset;
} mote_offset_t;

typedef struct {
    mote_offset_t layer;
} mote_pointwise_offset_s8_t;

typedef struct {
    mote_patch_t patch;
    mote_offset_t layer;
} mote_conv2d_offset_s8_t;

/* Two pixels, two channels at a time, as mote_gemm_2 does it. */
MOTE_NOINLINE void mote_offset_2(const mote_offset_t *p, const int8_t *x0, const int8_t *x1, int8_t *out) {
    const mote_gemm_s8_t *g = &p->gemm;
    const int32_t depth = g->depth, pixel = g->pixel, stride = (depth + 3) / 4 * 8;
    const int32_t part0 = mote_offset_part(x0, depth, p->offset), part1 = mote_offset_part(x1, depth, p->offset);
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    for (int32_t c = g->channels; c > 0; c -= 2, q += 2, w += stride) {
        const int32_t pair = c > 1, bias = q[0].bias, other = pair ? q[1].bias : 0;
        int32_t sum[4];
        sum[0] = MOTE_PLUS(bias, part0);
        sum[1] = MOTE_PLUS(other, pair ? part0 : 0);
        sum[2] = MOTE_PLUS(bias, part1);
        sum[3] = MOTE_PLUS(other, pair ? part1 : 0);
        mote_dot_2x2(x0, x1, w, depth, sum);
        out[0] = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        out[pixel] = mote_requantize(sum[2], q[0].mult, q[0].shift, o);
        out++;
        if (pair) { /* the partner of an odd last channel has no weights */
            out[0] = mote_requantize(sum[1], q[1].mult, q[1].shift, o);
            out[pixel] = mote_requantize(sum[3], q[1].mult, q[1].shift, o);
            out++;
        }
    }
}

MOTE_NOINLINE void mote_offset_1(const mote_offset_t *p, const int8_t *x0, int8_t *out) {
    const mote_gemm_s8_t *g = &p->gemm;
    const int32_t depth = g->depth, stride = (depth + 3) / 4 * 8;
    const int32_t part = mote_offset_part(x0, depth, p->offset);
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    for (int32_t c = g->channels; c > 0; c -= 2, q += 2, w += stride) {
        int32_t sum[2];
        sum[0] = MOTE_PLUS(q[0].bias, part);
        sum[1] = c > 1 ? MOTE_PLUS(q[1].bias, part) : 0;
        mote_dot_1x2(x0, w, depth, sum);
        *out++ = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        if (c > 1) {
            *out++ = mote_requantize(sum[1], q[1].mult, q[1].shift, o);
        }
    }
}

MOTE_POINTWISE_S8(pointwise_offset_s8, layer, layer.gemm, offset)
MOTE_CONV2D_S8(conv2d_offset_s8, layer, layer.gemm, offset)

#endif
