/* mote_conv2d_even_s8.h: int8 convolutions, of any window and of one pixel, with sums that are rounded as mote_even.h
 * says. */
#ifndef MOTE_CONV2D_EVEN_S8_H
#define MOTE_CONV2D_EVEN_S8_H

#include "mote_conv2d_s8.h"
#include "mote_even.h"
#include "mote_pointwise_s8.h"

typedef mote_pointwise_s8_t mote_pointwise_even_s8_t;
typedef mote_conv2d_s8_t mote_conv2d_even_s8_t;

/* Two pixels against every channel. */
MOTE_NOINLINE void mote_gemm_even_2(const mote_gemm_s8_t *g, const int8_t *x0, const int8_t *x1, int8_t *out) {
    const int32_t depth = g->depth, pixel = g->pixel, stride = (depth + 3) / 4 * 8;
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    for (int32_t c = g->channels; c > 0; c -= 2, q += 2, w += stride, out += 2) {
        int32_t sum[4] = {q[0].bias, c > 1 ? q[1].bias : 0, q[0].bias, c > 1 ? q[1].bias : 0};
        mote_dot_2x2(x0, x1, w, depth, sum);
        for (int32_t i = 0; i < mote_min(c, 2); i++) {
            out[i] = mote_requantize_even(sum[i], q[i].mult, q[i].shift, o);
            out[pixel + i] = mote_requantize_even(sum[2 + i], q[i].mult, q[i].shift, o);
        }
    }
}

/* One of them. */
MOTE_NOINLINE void mote_gemm_even_1(const mote_gemm_s8_t *g, const int8_t *x, int8_t *out) {
    const int32_t depth = g->depth, stride = (depth + 3) / 4 * 8;
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    for (int32_t c = g->channels; c > 0; c -= 2, q += 2, w += stride, out += 2) {
        int32_t sum[2] = {q[0].bias, c > 1 ? q[1].bias : 0};
        mote_dot_1x2(x, w, depth, sum);
        for (int32_t i = 0; i < mote_min(c, 2); i++) {
            out[i] = mote_requantize_even(sum[i], q[i].mult, q[i].shift, o);
        }
    }
}

MOTE_POINTWISE_S8(pointwise_even_s8, gemm, gemm, gemm_even)
MOTE_CONV2D_S8(conv2d_even_s8, gemm, gemm, gemm_even)

#endif
