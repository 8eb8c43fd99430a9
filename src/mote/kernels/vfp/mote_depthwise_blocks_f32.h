/* mote_depthwise_blocks_f32.h: float32 depthwise convolution of any window, four pixels by four channels at once. */
#ifndef MOTE_DEPTHWISE_BLOCKS_F32_H
#define MOTE_DEPTHWISE_BLOCKS_F32_H

#include "mote_block_f32.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    float low, high;
    const float *weights; /* [four channels][kernel rows][kernel columns][4], then [channel][...] of those left */
    const float *bias;
} mote_depthwise_blocks_f32_t;

/* Columns lo..hi-1 of one row of the window, for four channels of one pixel whose window begins in column `first`. */
static inline void mote_depthwise_blocks_one(const mote_depthwise_blocks_f32_t *p, const float *row, int32_t first,
                                             int32_t lo, int32_t hi, const float *w, float *sums) {
    const int32_t step = p->cols.spread * p->channels;
    if (hi > lo) {
        mote_taps1_f32(row + first * p->channels + lo * step, step, w + lo * MOTE_BLOCK, hi - lo, sums);
    }
}

/* Columns that only some of the pixels have: those before what all of them have, or behind it. */
MOTE_NOINLINE void mote_depthwise_blocks_edge(const mote_depthwise_blocks_f32_t *p, const float *row,
                                              const mote_columns_t *in, int32_t behind, const float *w, float *sums) {
    for (int32_t j = 0; j < in->pixels; j++) {
        const int32_t lo = behind ? mote_max(in->all_hi, in->lo[j]) : in->lo[j];
        const int32_t hi = behind ? in->hi[j] : mote_min(in->all_lo, in->hi[j]);
        mote_depthwise_blocks_one(p, row, in->first + j * p->cols.step, lo, hi, w, sums + j * MOTE_BLOCK);
    }
}

/* Four channels from c on of four pixels. */
static inline void mote_depthwise_blocks_four(const mote_depthwise_blocks_f32_t *p, const float *const *rows, int32_t c,
                                              const mote_columns_t *in, const float *w, float *sums) {
    const int32_t taps = p->rows.taps, step = p->cols.spread * p->channels, apart = p->cols.step * p->channels;
    const int32_t lo = in->all_lo, n = in->all_hi - lo, line = p->cols.taps * MOTE_BLOCK;
    const int32_t before = in->before, behind = in->behind;
    const int32_t start = in->first * p->channels + lo * step + c;
    for (int32_t k = 0; k < taps; k++, w += line) {
        const float *row = rows[k];
        if (row == NULL) {
            continue;
        }
        if (before) {
            mote_depthwise_blocks_edge(p, row + c, in, 0, w, sums);
        }
        if (n > 0) {
            mote_taps4_f32(row + start, apart, step, w + lo * MOTE_BLOCK, n, sums);
        }
        if (behind) {
            mote_depthwise_blocks_edge(p, row + c, in, 1, w, sums);
        }
    }
}

/* One of the channels that are left, whose inputs begin at `c`. */
static inline float mote_depthwise_blocks_rest(const mote_depthwise_blocks_f32_t *p, const float *const *rows, int32_t c,
                                               int32_t first, int32_t lo, int32_t hi, const float *w) {
    float sum = 0.0f;
    for (int32_t k = 0; k < p->rows.taps; k++, w += p->cols.taps) {
        for (int32_t t = lo; t < hi && rows[k] != NULL; t++) {
            sum = mote_add_product_f32(sum, rows[k][(first + t * p->cols.spread) * p->channels + c], w[t]);
        }
    }
    return sum;
}

MOTE_NOINLINE void mote_depthwise_blocks_f32_row(const mote_depthwise_blocks_f32_t *p, const float *const *rows,
                                                 float *out) {
    const int32_t channels = p->channels, taps = p->cols.taps, window = p->rows.taps * taps;
    float sums[MOTE_BLOCK * MOTE_BLOCK] = {0.0f};
    mote_columns_t in;
    for (int32_t x = 0; x < p->cols.out_size; x += in.pixels, out += in.pixels * channels) {
        const float *w = p->weights;
        int32_t c = 0;
        mote_columns(&p->cols, x, &in);
        for (; c + MOTE_BLOCK <= channels; c += MOTE_BLOCK, w += window * MOTE_BLOCK) {
            if (in.pixels == MOTE_BLOCK) {
                mote_depthwise_blocks_four(p, rows, c, &in, w, sums);
            } else {
                for (int32_t k = 0; k < p->rows.taps; k++) {
                    if (rows[k] != NULL) {
                        const float *v = w + k * taps * MOTE_BLOCK;
                        mote_depthwise_blocks_one(p, rows[k] + c, in.first, in.all_lo, in.all_hi, v, sums);
                    }
                }
            }
            mote_block_finish(sums, p->bias + c, p->low, p->high, out + c, channels, in.pixels);
        }
        for (; c < channels; c++, w += window) {
            for (int32_t j = 0; j < in.pixels; j++) {
                const int32_t first = in.first + j * p->cols.step;
                const float sum = mote_depthwise_blocks_rest(p, rows, c, first, in.lo[j], in.hi[j], w);
                out[j * channels + c] = mote_clamp_f32(sum + p->bias[c], p->low, p->high);
            }
        }
    }
}

static inline void mote_depthwise_blocks_f32(const mote_depthwise_blocks_f32_t *p, const float *in, float *out, int32_t lo,
                                             int32_t hi) {
    const float *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_f32(&p->rows, in, y, rows);
        mote_depthwise_blocks_f32_row(p, rows, out + y * p->rows.out_stride);
    }
}

#endif
