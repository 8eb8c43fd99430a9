/* mote_conv2d_add_s8.h: int8 convolution to a single row, one input row at a time, read where it lies. */
#ifndef MOTE_CONV2D_ADD_S8_H
#define MOTE_CONV2D_ADD_S8_H

#include "mote_gemm_s8.h"
#include "mote_running_sums.h"

typedef struct {
    mote_span_t cols; /* columns that lie side by side and never outside the image count as one tap */
    int32_t in_channels;
    int32_t depth, channels; /* products of a tap, sums of a pixel */
    mote_output_t output;
    const int8_t *weights; /* [row of the window][tap], each as in mote_dot_s8.h */
    const mote_channel_t *channel;
    const int32_t *fold; /* [tap][channel]: what the input's zero point makes of a tap inside; NULL: the biases know */
} mote_conv2d_add_s8_t;

/* Add one pixel's products with the weights of every channel. */
MOTE_NOINLINE void mote_gemm_add(const int8_t *x, const int8_t *w, int32_t depth, int32_t channels, int32_t *sums) {
    const int32_t stride = (depth + 3) / 4 * 8;
#ifdef mote_dot_1x2x2
    for (; channels > 3; channels -= 4, w += 2 * stride, sums += 4) {
        mote_dot_1x2x2(x, w, w + stride, depth, sums);
    }
#endif
    for (; channels > 0; channels -= 2, w += stride, sums += 2) {
        int32_t sum[2] = {sums[0], channels > 1 ? sums[1] : 0};
        mote_dot_1x2(x, w, depth, sum);
        sums[0] = sum[0];
        if (channels > 1) {
            sums[1] = sum[1];
        }
    }
}

static inline void mote_conv2d_add_s8(const mote_conv2d_add_s8_t *p, const int8_t *row, int32_t tap, int32_t part,
                                      int32_t *sums, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, depth = p->depth;
    const int32_t block = (channels + 1) / 2 * ((depth + 3) / 4 * 8);
    const int8_t *const w = p->weights + tap * s->taps * block;
    int32_t *sum = sums;
    if (part & MOTE_FIRST) {
        mote_begin_sums(p->channel, channels, s->out_size, sums);
    }
    for (int32_t x = 0; x < s->out_size; x++, sum += channels) {
        const int32_t first = x * s->step - s->pad, hi = mote_span_hi(s, first);
        for (int32_t t = mote_span_lo(s, first); t < hi; t++) {
            mote_gemm_add(row + (first + t * s->spread) * p->in_channels, w + t * block, depth, channels, sum);
            for (int32_t c = 0; p->fold != NULL && (part & MOTE_FIRST) && c < channels; c++) {
                sum[c] = MOTE_PLUS(sum[c], p->fold[t * channels + c]);
            }
        }
    }
    if (part & MOTE_LAST) {
        mote_finish_sums(p->channel, channels, s->out_size, p->output, sums, out);
    }
}

#endif
