/* mote_conv2d_blocks_f32.h: float32 convolution of any window, four pixels by four channels at once. */
#ifndef MOTE_CONV2D_BLOCKS_F32_H
#define MOTE_CONV2D_BLOCKS_F32_H

#include "mote_block_f32.h"
#include "mote_dot_f32.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, out_channels;
    float low, high;      /* the fused activation */
    const float *weights; /* [four channels][kernel rows][kernel columns][in][4], then [out][...][in] of those left */
    const float *bias;
} mote_conv2d_blocks_f32_t;

/* Columns lo..hi-1 of one row of the window, for one pixel whose window begins in column `first`. */
static inline void mote_conv2d_blocks_one(const mote_conv2d_blocks_f32_t *p, const float *row, int32_t first, int32_t lo,
                                          int32_t hi, const float *w, float *sums) {
    const int32_t c = p->in_channels, at_once = p->cols.spread == 1 ? hi - lo : 1;
    for (int32_t t = lo; t < hi; t += at_once) {
        mote_block1_f32(row + (first + t * p->cols.spread) * c, w + t * c * MOTE_BLOCK, at_once * c, sums);
    }
}

/* Columns that only some of the pixels have: those before what all of them have, or behind it. */
MOTE_NOINLINE void mote_conv2d_blocks_edge(const mote_conv2d_blocks_f32_t *p, const float *row, const mote_columns_t *in,
                                           int32_t behind, const float *w, float *sums) {
    for (int32_t j = 0; j < in->pixels; j++) {
        const int32_t lo = behind ? mote_max(in->all_hi, in->lo[j]) : in->lo[j];
        const int32_t hi = behind ? in->hi[j] : mote_min(in->all_lo, in->hi[j]);
        mote_conv2d_blocks_one(p, row, in->first + j * p->cols.step, lo, hi, w, sums + j * MOTE_BLOCK);
    }
}

/* Four channels of four pixels. */
static inline void mote_conv2d_blocks_four(const mote_conv2d_blocks_f32_t *p, const float *const *rows,
                                           const mote_columns_t *in, const float *w, float *sums) {
    const int32_t c = p->in_channels, taps = p->rows.taps, spread = p->cols.spread, apart = p->cols.step * c;
    const int32_t lo = in->all_lo, hi = in->all_hi, line = p->cols.taps * c * MOTE_BLOCK;
    const int32_t before = in->before, behind = in->behind;
    const int32_t at_once = spread == 1 ? hi - lo : 1, start = (in->first + lo * spread) * c;
    if (spread == 1 && hi - lo == p->cols.taps) {
        mote_block4_rows_f32(rows, taps, start, apart, w, at_once * c, sums);
        return;
    }
    for (int32_t k = 0; k < taps; k++, w += line) {
        const float *row = rows[k], *x, *v = w + lo * c * MOTE_BLOCK;
        if (row == NULL) {
            continue;
        }
        x = row + start;
        if (before) {
            mote_conv2d_blocks_edge(p, row, in, 0, w, sums);
        }
        for (int32_t t = lo; t < hi; t += at_once, x += spread * c, v += c * MOTE_BLOCK) {
            mote_block4_f32(x, apart, v, at_once * c, sums);
        }
        if (behind) {
            mote_conv2d_blocks_edge(p, row, in, 1, w, sums);
        }
    }
}

/* One of the channels that are left, of one pixel whose window begins in column `first`. */
static inline float mote_conv2d_blocks_rest(const mote_conv2d_blocks_f32_t *p, const float *const *rows, int32_t first,
                                            int32_t lo, int32_t hi, const float *w) {
    const int32_t c = p->in_channels, at_once = p->cols.spread == 1 ? hi - lo : 1;
    float sum = 0.0f;
    for (int32_t k = 0; k < p->rows.taps; k++, w += p->cols.taps * c) {
        for (int32_t t = lo; rows[k] != NULL && t < hi; t += at_once) {
            sum = mote_dot_f32(sum, rows[k] + (first + t * p->cols.spread) * c, w + t * c, at_once * c);
        }
    }
    return sum;
}

MOTE_NOINLINE void mote_conv2d_blocks_f32_row(const mote_conv2d_blocks_f32_t *p, const float *const *rows, float *out) {
    const int32_t channels = p->out_channels, line = p->cols.taps * p->in_channels, depth = p->rows.taps * line;
    const int32_t whole = channels - channels % MOTE_BLOCK;
    float sums[MOTE_BLOCK * MOTE_BLOCK] = {0.0f};
    mote_columns_t in;
    for (int32_t x = 0; x < p->cols.out_size; x += in.pixels, out += in.pixels * channels) {
        const float *w = p->weights;
        mote_columns(&p->cols, x, &in);
        for (int32_t o = 0; o < whole; o += MOTE_BLOCK, w += depth * MOTE_BLOCK) {
            if (in.pixels == MOTE_BLOCK) {
                mote_conv2d_blocks_four(p, rows, &in, w, sums);
            } else {
                for (int32_t k = 0; k < p->rows.taps; k++) {
                    if (rows[k] != NULL) {
                        mote_conv2d_blocks_one(p, rows[k], in.first, in.all_lo, in.all_hi, w + k * line * MOTE_BLOCK, sums);
                    }
                }
            }
            mote_block_finish(sums, p->bias + o, p->low, p->high, out + o, channels, in.pixels);
        }
        for (int32_t o = whole; o < channels; o++, w += depth) {
            for (int32_t j = 0; j < in.pixels; j++) {
                const int32_t first = in.first + j * p->cols.step;
                const float sum = mote_conv2d_blocks_rest(p, rows, first, in.lo[j], in.hi[j], w);
                out[j * channels + o] = mote_clamp_f32(sum + p->bias[o], p->low, p->high);
            }
        }
    }
}

MOTE_BY_ROWS(conv2d_blocks_f32, float, float, f32, rows)

#endif
