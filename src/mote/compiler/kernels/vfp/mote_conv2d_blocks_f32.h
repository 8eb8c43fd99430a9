/* mote_conv2d_blocks_f32.h: float32 convolution of any window, four pixels by four channels at once. */
#ifndef MOTE_CONV2D_BLOCKS_F32_H
#define MOTE_CONV2D_BLOCKS_F32_H

#include "mote_block_f32.h"
#include "mote_dot_f32.h"

#define MOTE_CONV2D_BLOCKS(kind, weight_t) \
    typedef struct { \
        mote_window_t rows; \
        mote_span_t cols; \
        int32_t in_channels, out_channels; \
        float low, high;         /* the fused activation */ \
        const weight_t *weights; /* [four channels][kernel rows][kernel columns][in][4], then one channel each */ \
        const float *bias; \
    } mote_conv2d_blocks_##kind##_t; \
\
    /* Columns lo..hi-1 of one row of the window, for one pixel whose window begins in column `first`. */ \
    static inline void mote_conv2d_blocks_one_##kind(const mote_conv2d_blocks_##kind##_t *p, const float *row, \
                                                     int32_t first, int32_t lo, int32_t hi, const weight_t *w, \
                                                     float *sums) { \
        const int32_t c = p->in_channels, at_once = p->cols.spread == 1 ? hi - lo : 1; \
        for (int32_t t = lo; t < hi; t += at_once) { \
            mote_block1_##kind(row + (first + t * p->cols.spread) * c, w + t * c * MOTE_BLOCK, at_once * c, sums); \
        } \
    } \
\
    /* Columns that only some of the pixels have: those before what all of them have, or behind it. */ \
    MOTE_NOINLINE void mote_conv2d_blocks_edge_##kind(const mote_conv2d_blocks_##kind##_t *p, const float *row, \
                                                      const mote_columns_t *in, int32_t behind, const weight_t *w, \
                                                      float *sums) { \
        for (int32_t j = 0; j < in->pixels; j++) { \
            const int32_t lo = behind ? mote_max(in->all_hi, in->lo[j]) : in->lo[j]; \
            const int32_t hi = behind ? in->hi[j] : mote_min(in->all_lo, in->hi[j]); \
            mote_conv2d_blocks_one_##kind(p, row, in->first + j * p->cols.step, lo, hi, w, sums + j * MOTE_BLOCK); \
        } \
    } \
\
    /* Four channels of four pixels. */ \
    static inline void mote_conv2d_blocks_four_##kind(const mote_conv2d_blocks_##kind##_t *p, \
                                                      const float *const *rows, const mote_columns_t *in, \
                                                      const weight_t *w, float *sums) { \
        const int32_t c = p->in_channels, taps = p->rows.taps, spread = p->cols.spread, apart = p->cols.step * c; \
        const int32_t lo = in->all_lo, hi = in->all_hi, line = p->cols.taps * c * MOTE_BLOCK; \
        const int32_t before = in->before, behind = in->behind; \
        const int32_t at_once = spread == 1 ? hi - lo : 1, start = (in->first + lo * spread) * c; \
        if (spread == 1 && hi - lo == p->cols.taps) { \
            mote_block4_rows_##kind(rows, taps, start, apart, w, at_once * c, sums); \
            return; \
        } \
        for (int32_t k = 0; k < taps; k++, w += line) { \
            const weight_t *v = w + lo * c * MOTE_BLOCK; \
            const float *row = rows[k], *x; \
            if (row == NULL) { \
                continue; \
            } \
            x = row + start; \
            if (before) { \
                mote_conv2d_blocks_edge_##kind(p, row, in, 0, w, sums); \
            } \
            for (int32_t t = lo; t < hi; t += at_once, x += spread * c, v += c * MOTE_BLOCK) { \
                mote_block4_##kind(x, apart, v, at_once * c, sums); \
            } \
            if (behind) { \
                mote_conv2d_blocks_edge_##kind(p, row, in, 1, w, sums); \
            } \
        } \
    } \
\
    /* One of the channels that are left, of one pixel whose window begins in column `first`. */ \
    static inline float mote_conv2d_blocks_rest_##kind(const mote_conv2d_blocks_##kind##_t *p, \
                                                       const float *const *rows, int32_t first, int32_t lo, \
                                                       int32_t hi, const weight_t *w) { \
        const int32_t c = p->in_channels, at_once = p->cols.spread == 1 ? hi - lo : 1; \
        float sum = 0.0f; \
        for (int32_t k = 0; k < p->rows.taps; k++, w += p->cols.taps * c) { \
            for (int32_t t = lo; rows[k] != NULL && t < hi; t += at_once) { \
                sum = mote_dot_##kind(sum, rows[k] + (first + t * p->cols.spread) * c, w + t * c, at_once * c); \
            } \
        } \
        return sum; \
    } \
\
    MOTE_NOINLINE void mote_conv2d_blocks_##kind##_row(const mote_conv2d_blocks_##kind##_t *p, \
                                                       const float *const *rows, float *out) { \
        const int32_t channels = p->out_channels, line = p->cols.taps * p->in_channels, depth = p->rows.taps * line; \
        const int32_t whole = channels - channels % MOTE_BLOCK; \
        float sums[MOTE_BLOCK * MOTE_BLOCK] = {0.0f}; \
        mote_columns_t in; \
        for (int32_t x = 0; x < p->cols.out_size; x += in.pixels, out += in.pixels * channels) { \
            const weight_t *w = p->weights; \
            mote_columns(&p->cols, x, &in); \
            for (int32_t o = 0; o < whole; o += MOTE_BLOCK, w += depth * MOTE_BLOCK) { \
                if (in.pixels == MOTE_BLOCK) { \
                    mote_conv2d_blocks_four_##kind(p, rows, &in, w, sums); \
                } else { \
                    const weight_t *v = w; \
                    for (int32_t k = 0; k < p->rows.taps; k++, v += line * MOTE_BLOCK) { \
                        if (rows[k] != NULL) { \
                            mote_conv2d_blocks_one_##kind(p, rows[k], in.first, in.all_lo, in.all_hi, v, sums); \
                        } \
                    } \
                } \
                mote_block_finish(sums, p->bias + o, p->low, p->high, out + o, channels, in.pixels); \
            } \
            for (int32_t o = whole; o < channels; o++, w += depth) { \
                for (int32_t j = 0; j < in.pixels; j++) { \
                    const int32_t first = in.first + j * p->cols.step; \
                    const float sum = mote_conv2d_blocks_rest_##kind(p, rows, first, in.lo[j], in.hi[j], w); \
                    out[j * channels + o] = mote_clamp_f32(sum + p->bias[o], p->low, p->high); \
                } \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(conv2d_blocks_##kind, float, float, f32, rows)

MOTE_CONV2D_BLOCKS(f32, float)

#endif
