/* mote_gemm_s8.h: one or two vectors of int8 against every channel: the body of convolution and pointwise rows. */
#ifndef MOTE_GEMM_S8_H
#define MOTE_GEMM_S8_H

#include "mote_dot_s8.h"

typedef struct {
    int32_t depth, channels;     /* products in a sum, sums in a pixel */
    int32_t pixel;           /* from one output pixel to the next */
    mote_output_t output;
    const int8_t *weights;
    const mote_channel_t *channel;
} mote_gemm_s8_t;

/* What a loop needs of mote_gemm_s8_t is copied to locals first: the compiler must assume that a store through
 * an int8_t pointer changes the struct, and would read it again after each. */
MOTE_NOINLINE void mote_gemm_2(const mote_gemm_s8_t *g, const int8_t *x0, const int8_t *x1, int8_t *out) {
    const int32_t depth = g->depth, pixel = g->pixel, stride = (depth + 3) / 4 * 8;
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    int32_t c = g->channels;
    for (; c > 1; c -= 2, q += 2, w += stride) {
        int32_t sum[4] = {q[0].bias, q[1].bias, q[0].bias, q[1].bias};
        mote_dot_2x2(x0, x1, w, depth, sum);
        out[0] = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        out[pixel] = mote_requantize(sum[2], q[0].mult, q[0].shift, o);
        out++;
        out[0] = mote_requantize(sum[1], q[1].mult, q[1].shift, o);
        out[pixel] = mote_requantize(sum[3], q[1].mult, q[1].shift, o);
        out++;
    }
    if (c > 0) { /* an odd last channel: its partner's weights are zero */
        int32_t sum[4] = {q[0].bias, 0, q[0].bias, 0};
        mote_dot_2x2(x0, x1, w, depth, sum);
        out[0] = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        out[pixel] = mote_requantize(sum[2], q[0].mult, q[0].shift, o);
    }
}

MOTE_NOINLINE void mote_gemm_1(const mote_gemm_s8_t *g, const int8_t *x0, int8_t *out) {
    const int32_t depth = g->depth, stride = (depth + 3) / 4 * 8;
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    int32_t c = g->channels;
#ifdef mote_dot_1x2x2
    for (; c > 0; c -= 4, q += 4, w += 2 * stride) { /* where there is no second pair the first one stands in for it */
        int32_t sum[4] = {q[0].bias, c > 1 ? q[1].bias : 0, c > 2 ? q[2].bias : 0, c > 3 ? q[3].bias : 0};
        mote_dot_1x2x2(x0, w, c > 2 ? w + stride : w, depth, sum);
        if (o.plain && c > 3) {
            out[0] = mote_requantize_plain(sum[0], q[0].mult, q[0].shift, o.zero);
            out[1] = mote_requantize_plain(sum[1], q[1].mult, q[1].shift, o.zero);
            out[2] = mote_requantize_plain(sum[2], q[2].mult, q[2].shift, o.zero);
            out[3] = mote_requantize_plain(sum[3], q[3].mult, q[3].shift, o.zero);
            out += 4;
            continue;
        }
        for (int32_t i = 0; i < mote_min(c, 4); i++, out++) {
            out[0] = mote_requantize(sum[i], q[i].mult, q[i].shift, o);
        }
    }
#else
    for (; c > 0; c -= 2, q += 2, w += stride, out += 2) {
        int32_t sum[2] = {q[0].bias, c > 1 ? q[1].bias : 0};
        mote_dot_1x2(x0, w, depth, sum);
        out[0] = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        if (c > 1) {
            out[1] = mote_requantize(sum[1], q[1].mult, q[1].shift, o);
        }
    }
#endif
}

/* One or two vectors against every channel of a layer whose sizes and weights are `of(p)`: `part_of(p, x, depth)` is added
 * to the sums of a vector, and `finish` rounds as mote_requantize does. */
#define MOTE_GEMM_S8(name, layer_t, of, part_of, finish) \
    MOTE_NOINLINE void mote_##name##_2(const layer_t *p, const int8_t *x0, const int8_t *x1, int8_t *out) { \
        const mote_gemm_s8_t *g = of(p); \
        const int32_t depth = g->depth, pixel = g->pixel, stride = (depth + 3) / 4 * 8; \
        const int32_t part0 = part_of(p, x0, depth), part1 = part_of(p, x1, depth); \
        const mote_output_t o = g->output; \
        const mote_channel_t *q = g->channel; \
        const int8_t *w = g->weights; \
        for (int32_t c = g->channels; c > 0; c -= 2, q += 2, w += stride, out += 2) { \
            int32_t sum[4] = {MOTE_PLUS(q[0].bias, part0), 0, MOTE_PLUS(q[0].bias, part1), 0}; \
            if (c > 1) { /* the partner of an odd last channel has no weights */ \
                sum[1] = MOTE_PLUS(q[1].bias, part0); \
                sum[3] = MOTE_PLUS(q[1].bias, part1); \
            } \
            mote_dot_2x2(x0, x1, w, depth, sum); \
            for (int32_t i = 0; i < mote_min(c, 2); i++) { \
                out[i] = finish(sum[i], q[i].mult, q[i].shift, o); \
                out[pixel + i] = finish(sum[2 + i], q[i].mult, q[i].shift, o); \
            } \
        } \
    } \
\
    MOTE_NOINLINE void mote_##name##_1(const layer_t *p, const int8_t *x, int8_t *out) { \
        const mote_gemm_s8_t *g = of(p); \
        const int32_t depth = g->depth, stride = (depth + 3) / 4 * 8, part = part_of(p, x, depth); \
        const mote_output_t o = g->output; \
        const mote_channel_t *q = g->channel; \
        const int8_t *w = g->weights; \
        for (int32_t c = g->channels; c > 0; c -= 2, q += 2, w += stride, out += 2) { \
            int32_t sum[2] = {MOTE_PLUS(q[0].bias, part), c > 1 ? MOTE_PLUS(q[1].bias, part) : 0}; \
            mote_dot_1x2(x, w, depth, sum); \
            for (int32_t i = 0; i < mote_min(c, 2); i++) { \
                out[i] = finish(sum[i], q[i].mult, q[i].shift, o); \
            } \
        } \
    }

#endif
