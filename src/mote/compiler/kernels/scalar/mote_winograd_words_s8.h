/* mote_winograd_words_s8.h: int8 convolutions of 3x3 by Winograd's algorithm on tiles of 4x4 outputs, for cores that
 * multiply single numbers: 36 products and sums of words where the window has 144.
 *
 * A tile's inputs, 128 more each, are transformed two channels at a time as one number, then split: for each of 36
 * positions, for each input channel, a word of every tile of a block. Transformed weights are numbers of 16 bits, for
 * each block of channels [position][input][channel]. Sums wrap; what comes out of the inverse transform is 576 times the
 * sum of the window modulo 2^32, which has one solution below 2^25: it is multiplied by the inverse of nine and shifted.
 * See scalar/winograd.py for the
 * transform of weights.
 */
#ifndef MOTE_WINOGRAD_WORDS_S8_H
#define MOTE_WINOGRAD_WORDS_S8_H

#include "mote_lanes_s8.h"
#include "mote_winograd_words.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t images, in_channels, channels; /* input channels in fours, output channels in blocks */
    int32_t in_zero;
    int32_t lo, hi; /* of outputs */
    const int16_t *weights;
    const int32_t *channel; /* of each the bias, and what its form makes bytes of sums with */
} mote_winograd_words_t;

/* Tiles of an image across and down. */
static inline int32_t mote_winograd_words_across(const mote_winograd_words_t *p) { return (p->cols.out_size + 3) / 4; }
static inline int32_t mote_winograd_words_down(const mote_winograd_words_t *p) { return (p->rows.out_rows + 3) / 4; }

/* The inputs of the tile whose first output is in row y and column x, or a copy in `patch` where some are padding; and
 * how far apart rows and pixels lie there. */
static inline const int8_t *mote_winograd_words_patch(const mote_winograd_words_t *p, const int8_t *in, int32_t y,
                                                      int32_t x, int8_t *patch, int32_t *row) {
    const int32_t top = y - p->rows.pad, left = x - p->cols.pad, c = p->in_channels;
    if (top >= 0 && left >= 0 && top <= p->rows.in_rows - 6 && left <= p->cols.in_size - 6) {
        *row = p->rows.in_stride;
        return in + top * *row + left * c;
    }
    const int32_t first = left < 0 ? -left : 0, last = mote_min(p->cols.in_size - left, 6);
    *row = 6 * c;
    memset(patch, (int)p->in_zero, (size_t)(36 * c));
    for (int32_t i = 0; i < 6; i++) {
        if (top + i >= 0 && top + i < p->rows.in_rows && last > first) {
            memcpy(patch + (6 * i + first) * c, in + (top + i) * p->rows.in_stride + (left + first) * c,
                   (size_t)((last - first) * c));
        }
    }
    return patch;
}

/* Sums of one channel of a tile, `step` words from one position to the next, transformed back: down columns, then along
 * rows, where they lie. */
MOTE_NOINLINE MOTE_HOT void mote_winograd_words_back(const uint32_t *m, int32_t step, uint32_t *to) {
    for (const uint32_t *const end = m + 6 * step; m != end; m += step, to++) {
        mote_winograd_words_four(m, 6 * step, to, 6);
        MOTE_MOVED(to);
    }
    to -= 6;
    for (const uint32_t *const end = to + 24; to != end; to += 6) {
        mote_winograd_words_four(to, 1, to, 1);
        MOTE_MOVED(to);
    }
}

/* The sum of a window. */
MOTE_ALWAYS_INLINE int32_t mote_winograd_words_sum(uint32_t y) { return (int32_t)(y * 0x38E38E39u) >> 6; }

#define MOTE_WINOGRAD_WORDS_FINISH(form) \
    MOTE_NOINLINE MOTE_HOT void mote_winograd_words_finish_##form(const uint32_t *m, int32_t step, \
                                                                  const mote_winograd_words_to_t *t, int8_t *out) { \
        uint32_t y[24]; \
        mote_winograd_words_back(m, step, y); \
        MOTE_WINOGRAD_WORDS_BYTES_##form(y, t, out); \
    }

/* The loop in C. */
#define MOTE_WINOGRAD_WORDS_IN_C(form, y, t, out) \
    do { \
        MOTE_LANES_LOCALS_##form; \
        const int32_t bias = (t)->q[-1]; \
        const uint32_t *from = y; \
        for (int32_t i = t->rows; i > 0; i--, out += t->stride, from += 6) { \
            int8_t *to = out; \
            for (const uint32_t *x = from, *const end = from + t->columns; x != end; to += t->pixel) { \
                *to = MOTE_LANES_BYTE_##form(mote_wrapping_add(mote_winograd_words_sum(*x++), bias)); \
            } \
        } \
    } while (0)
#define MOTE_WINOGRAD_WORDS_BYTES_plain(y, t, out) MOTE_WINOGRAD_WORDS_IN_C(plain, y, t, out)
#define MOTE_WINOGRAD_WORDS_BYTES_halves(y, t, out) MOTE_WINOGRAD_WORDS_IN_C(halves, y, t, out)
#define MOTE_WINOGRAD_WORDS_BYTES_plain_full(y, t, out) MOTE_WINOGRAD_WORDS_IN_C(plain_full, y, t, out)
#define MOTE_WINOGRAD_WORDS_BYTES_halves_full(y, t, out) MOTE_WINOGRAD_WORDS_IN_C(halves_full, y, t, out)
#ifndef MOTE_WINOGRAD_WORDS_BYTES_short
#define MOTE_WINOGRAD_WORDS_BYTES_short(y, t, out) MOTE_WINOGRAD_WORDS_IN_C(short, y, t, out)
#define MOTE_WINOGRAD_WORDS_BYTES_short_halves(y, t, out) MOTE_WINOGRAD_WORDS_IN_C(short_halves, y, t, out)
#endif

/* Whole tensors, `tiles` at once and channels in blocks of `lanes`: all products of a block are made by `products`. */
#define MOTE_WINOGRAD_WORDS(form, tiles, lanes, id) \
    typedef mote_winograd_words_t mote_winograd_words_##form##_##id##_t; \
    MOTE_NOINLINE MOTE_HOT void mote_winograd_words_##form##_##id(const mote_winograd_words_t *p, const int8_t *in, \
                                                                  int8_t *out, mote_any_t scratch) { \
        enum { WORDS = (tiles) * (lanes) }; \
        const int32_t depth = p->in_channels, across = mote_winograd_words_across(p); \
        const int32_t count = across * mote_winograd_words_down(p); \
        uint32_t *const v = (uint32_t *)scratch, *const m = v + 36 * (tiles) * depth; \
        int8_t *const patch = (int8_t *)(m + 36 * WORDS); \
        mote_winograd_words_to_t t = {NULL, p->lo, p->hi, 0, 0, p->rows.out_stride, p->channels}; \
        for (int32_t image = p->images; image > 0; image--) { \
            for (int32_t first = 0, x = 0, y = 0; first < count; first += (tiles)) { \
                int32_t xs[tiles], ys[tiles]; \
                const int32_t n = mote_min(count - first, (tiles)); \
                for (int32_t i = 0; i < n; i++) { \
                    int32_t row; \
                    const int8_t *const from = mote_winograd_words_patch(p, in, y, x, patch, &row); \
                    mote_winograd_words_inputs(from, row, depth, v + i, (tiles)); \
                    xs[i] = x; \
                    ys[i] = y; \
                    x += 4; \
                    if (x >= p->cols.out_size) { \
                        x = 0; \
                        y += 4; \
                    } \
                } \
                const int16_t *u = p->weights; \
                t.q = p->channel + 1; \
                for (int32_t c = 0; c < p->channels; c += (lanes)) { \
                    u = mote_winograd_words_##id##_products(v, u, m, depth); \
                    for (int32_t k = 0; k < (lanes); k++, t.q += MOTE_LANES_CONSTANTS_##form) { \
                        for (int32_t i = 0; i < n; i++) { \
                            t.rows = mote_min(p->rows.out_rows - ys[i], 4); \
                            t.columns = mote_min(p->cols.out_size - xs[i], 4); \
                            mote_winograd_words_finish_##form(m + k * (tiles) + i, WORDS, &t, \
                                                              out + ys[i] * t.stride + xs[i] * t.pixel + c + k); \
                        } \
                    } \
                } \
            } \
            in += p->rows.in_rows * p->rows.in_stride; \
            out += p->rows.out_rows * t.stride; \
        } \
    }

#endif
