/* mote_transpose_conv_s8.h: int8 transposed convolution of any kernel size, stride and padding.
 *
 * The outputs of one phase (see mote_transpose_conv.h) are a convolution of stride 1 with a part of the kernel.
 * The compiler packs the weights phase by phase, taps reversed, so that a window of neighbouring input pixels
 * lies as the weights do.
 */
#ifndef MOTE_TRANSPOSE_CONV_S8_H
#define MOTE_TRANSPOSE_CONV_S8_H

#include "mote_gemm_s8.h"
#include "mote_transpose_conv.h"

typedef struct {
    int32_t rows, columns; /* of the window */
    int32_t weights;       /* where its weights begin */
} mote_phase_t;

typedef struct {
    int32_t in_rows, in_columns, in_channels;
    int32_t out_rows, out_columns, out_channels;
    mote_spread_t rows, columns;
    int32_t in_zero; /* what lies around the input */
    mote_output_t output;
    const mote_phase_t *phase; /* [row phase][column phase] */
    const int8_t *weights;
    const mote_channel_t *channel; /* [row phase][column phase][output channel] */
} mote_transpose_conv_s8_t;

/* Copy the window whose last column is `last` into `to`, row by row. */
static inline void mote_transpose_conv_s8_gather(const mote_transpose_conv_s8_t *p, const mote_phase_t *phase,
                                                 const int8_t *const *rows, int32_t last, int8_t *to) {
    const int32_t c = p->in_channels, first = last - phase->columns + 1;
    const int32_t lo = first < 0 ? 0 : first, hi = mote_min(last + 1, p->in_columns);
    for (int32_t k = 0; k < phase->rows; k++, to += phase->columns * c) {
        if (rows[k] == NULL || hi - lo < phase->columns) {
            memset(to, (int)p->in_zero, (size_t)(phase->columns * c));
        }
        if (rows[k] != NULL && lo < hi) {
            memcpy(to + (lo - first) * c, rows[k] + lo * c, (size_t)((hi - lo) * c));
        }
    }
}

/* Output row y (of all images). `rows` are the input rows that reach it, top to bottom, NULL for those outside the
 * image. `scratch` holds two windows. */
static inline void mote_transpose_conv_s8_row(const mote_transpose_conv_s8_t *p, const int8_t *const *rows, int32_t y,
                                              int8_t *out, int8_t *scratch) {
    const int32_t phase_y = (y % p->out_rows + p->rows.pad) % p->rows.stride;
    const int32_t step = p->columns.stride, channels = p->out_channels;
    for (int32_t f = 0; f < step; f++) {
        const int32_t number = phase_y * step + f;
        const mote_phase_t *phase = p->phase + number;
        const int32_t depth = phase->rows * phase->columns * p->in_channels;
        int32_t last = p->columns.pad / step, x = f - p->columns.pad % step;
        mote_gemm_s8_t gemm;
        gemm.depth = depth;
        gemm.channels = channels;
        gemm.pixel = step * channels;
        gemm.output = p->output;
        gemm.weights = p->weights + phase->weights;
        gemm.channel = p->channel + number * channels;
        if (x < 0) {
            x += step;
            last++;
        }
        if (depth == 0 && x < p->out_columns) { /* no input reaches them: all are the same */
            const int8_t *const first = out + x * channels;
            mote_gemm_1(&gemm, scratch, out + x * channels);
            for (x += step; x < p->out_columns; x += step) {
                memcpy(out + x * channels, first, (size_t)channels);
            }
        }
        for (; x < p->out_columns; x += 2 * step, last += 2) {
            mote_transpose_conv_s8_gather(p, phase, rows, last, scratch);
            if (x + step >= p->out_columns) {
                mote_gemm_1(&gemm, scratch, out + x * channels);
                break;
            }
            mote_transpose_conv_s8_gather(p, phase, rows, last + 1, scratch + depth);
            mote_gemm_2(&gemm, scratch, scratch + depth, out + x * channels);
        }
    }
}

static inline void mote_transpose_conv_s8(const mote_transpose_conv_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                          int32_t hi, int8_t *scratch) {
    const int8_t *rows[MOTE_MAX_TAPS];
    const int32_t stride = p->in_columns * p->in_channels;
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows, at = y - image * p->out_rows + p->rows.pad;
        const int32_t taps = mote_spread_taps(&p->rows, at % p->rows.stride);
        int32_t row = at / p->rows.stride - taps + 1;
        for (int32_t k = 0; k < taps; k++, row++) {
            const int inside = row >= 0 && row < p->in_rows;
            rows[k] = inside ? in + (image * p->in_rows + row) * stride : NULL;
        }
        mote_transpose_conv_s8_row(p, rows, y, out + y * p->out_columns * p->out_channels, scratch);
    }
}

#endif
