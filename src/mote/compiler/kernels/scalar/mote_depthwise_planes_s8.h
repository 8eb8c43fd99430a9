/* mote_depthwise_planes_s8.h: int8 depthwise convolution of whole images, for cores without SIMD.
 *
 * Every output row is computed with the one half an image below it. Channel by channel inputs become words: a pixel
 * under the upper window, and 2^16 times the one that the lower window has there (see mote_lanes_s8.h). A weight is
 * multiplied with both. Words lie in columns, and each is made once for all windows over it. High sums are taken out
 * after three words; weights with which a sum might not fit are zero there, and listed: `spill`.
 */
#ifndef MOTE_DEPTHWISE_PLANES_S8_H
#define MOTE_DEPTHWISE_PLANES_S8_H

#include "mote_lanes_s8.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols; /* not spread */
    int32_t images, in_channels, channels, multiplier;
    int32_t in_zero;
    int32_t taps;   /* weights of a window: columns are padded to multiples of three */
    int32_t lo, hi; /* of outputs */
    const int8_t *weights; /* [channels][taps], one column of the window after another */
    const int32_t *channel; /* of each the bias, and what its form makes bytes of sums with */
    const int16_t *spill;   /* of each channel: how many, then pairs of a word's place in bytes and a weight */
} mote_depthwise_planes_t;

/* Columns of words, with those of padding. */
static inline int32_t mote_lanes_columns(const mote_depthwise_planes_t *p) {
    const mote_span_t *s = &p->cols;
    const int32_t under = (s->out_size - 1) * s->step + s->taps, given = s->pad + s->in_size;
    return under > given ? under : given;
}

/* Words of `height` rows, and those that the last group may read behind them. */
static inline int32_t mote_lanes_words(const mote_depthwise_planes_t *p, int32_t height) {
    return height * mote_lanes_columns(p) + 2;
}

/* Words of a column under the windows of half of the image. */
static inline int32_t mote_lanes_height(const mote_depthwise_planes_t *p) {
    return (p->rows.out_rows - p->rows.out_rows / 2 - 1) * p->rows.step + p->rows.taps;
}

/* How windows over columns of `height` words, which begin behind the weights, are computed. All words are padding so
 * far. */
static inline mote_lanes_windows_t mote_lanes_begin(const mote_depthwise_planes_t *p, int32_t height, uint32_t *w) {
    const int32_t groups = (p->rows.taps + 2) / 3;
    const mote_lanes_windows_t t = {
        w + p->taps, w, NULL, NULL, 0, 0, 0, 4 * (height - 3 * groups), 0, 0, NULL, p->spill, p->cols.taps, groups,
        p->lo, p->hi};
    for (int32_t i = mote_lanes_words(p, height) - 1; i >= 0; i--) {
        w[p->taps + i] = (uint32_t)p->in_zero * 0x10001u;
    }
    return t;
}

/* The next channel: its constants, and its weights as words. */
static inline void mote_lanes_next(const mote_depthwise_planes_t *p, mote_lanes_windows_t *t, const int32_t *q,
                                   const int8_t *v, uint32_t *w) {
    t->start = (uint32_t)q[0] * 0x10001u - (uint32_t)(t->columns * t->groups) * MOTE_LANES_HALF;
    t->bias = q[0];
    t->q = q + 1;
    for (int32_t i = 0; i < p->taps; i++) {
        const int32_t weight = v[i];
        w[i] = (uint32_t)weight;
    }
}

#define MOTE_LANES_RUN(form, t) \
    do { \
        if ((t)->groups == 1 && (t)->columns == 3) { \
            mote_lanes_nine_##form(t); \
        } else if ((t)->groups == 2) { \
            mote_lanes_twos_##form(t); \
        } else if ((t)->groups == 3) { \
            mote_lanes_threes_##form(t); \
        } else { \
            mote_lanes_any_##form(t); \
        } \
    } while (0)

/* n pixels of one channel in rows below each other, with those of others. */
static inline void mote_lanes_down(const int8_t *a, const int8_t *b, int32_t stride, int32_t n, uint32_t *to) {
    for (; n > 0; n--, a += stride, b += stride) {
        *to++ = (uint32_t)*a + ((uint32_t)*b << 16);
    }
}

/* Columns of `height` words, from `pad` rows above the image on: each row with the one `below` it. */
MOTE_NOINLINE MOTE_HOT void mote_lanes_plane(const mote_depthwise_planes_t *p, const int8_t *image, int32_t height,
                                             int32_t below, uint32_t *to) {
    const int32_t stride = p->rows.in_stride, pad = p->rows.pad, more = below * stride;
    const int32_t uppers = mote_min(height, p->rows.in_rows + pad);
    const int32_t lowers = mote_min(height, p->rows.in_rows + pad - below);
    for (int32_t x = 0; x < p->cols.in_size; x++, image += p->in_channels, to += height) {
        for (int32_t k = pad > below ? pad - below : 0; k < mote_min(pad, lowers); k++) {
            to[k] = (uint32_t)p->in_zero + ((uint32_t)image[(k - pad) * stride + more] << 16);
        }
        mote_lanes_down(image, image + more, stride, lowers - pad, to + pad);
        for (int32_t k = lowers > pad ? lowers : pad; k < uppers; k++) {
            to[k] = (uint32_t)image[(k - pad) * stride] + ((uint32_t)p->in_zero << 16);
        }
    }
}

/* Kernels of a form, over whole images. Where the number of rows is odd, the one in the middle is computed twice. */
#define MOTE_DEPTHWISE_PLANES(form) \
    typedef mote_depthwise_planes_t mote_depthwise_planes_##form##_t; \
    MOTE_NOINLINE MOTE_HOT void mote_depthwise_planes_##form(const mote_depthwise_planes_t *p, const int8_t *in, \
                                                             int8_t *out, mote_any_t scratch) { \
        const int32_t half = p->rows.out_rows / 2, stride = p->rows.out_stride; \
        const int32_t upper = p->rows.out_rows - half, height = mote_lanes_height(p), below = half * p->rows.step; \
        uint32_t *const w = (uint32_t *)scratch, *const words = w + p->taps; \
        for (int32_t image = p->images; image > 0; image--) { \
            mote_lanes_windows_t t = mote_lanes_begin(p, height, w); \
            const int32_t *q = p->channel; \
            t.step = 4 * p->rows.step; \
            t.pixel = stride; \
            for (int32_t n = 0, input = 0, copy = 0; n < p->channels; n++, q += MOTE_LANES_CONSTANTS_##form) { \
                int8_t *to = out + n; \
                mote_lanes_next(p, &t, q, p->weights + n * p->taps, w); \
                if (copy == 0) { \
                    mote_lanes_plane(p, in + input, height, below, words + p->cols.pad * height); \
                } \
                const uint32_t *from = words; \
                for (int32_t x = p->cols.out_size; x > 0; x--, from += p->cols.step * height, to += p->channels) { \
                    t.x = from; \
                    t.upper = to; \
                    t.lower = to + half * stride; \
                    t.left = upper; \
                    MOTE_LANES_RUN(form, &t); \
                } \
                t.spill += 1 + 2 * *t.spill; \
                copy++; \
                if (copy == p->multiplier) { \
                    copy = 0; \
                    input++; \
                } \
            } \
            in += p->rows.in_rows * p->rows.in_stride; \
            out += p->rows.out_rows * stride; \
        } \
    }

#endif
