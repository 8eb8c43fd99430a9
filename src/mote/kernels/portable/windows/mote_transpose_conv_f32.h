/* mote_transpose_conv_f32.h: float32 transposed convolution of any kernel size, stride and padding. */
#ifndef MOTE_TRANSPOSE_CONV_F32_H
#define MOTE_TRANSPOSE_CONV_F32_H

#include "mote_conv2d_f32.h"
#include "mote_transpose_conv.h"

typedef struct {
    int32_t in_rows, in_columns, in_channels;
    int32_t out_rows, out_columns, out_channels;
    mote_spread_t rows, columns;
    float low, high;      /* the fused activation */
    const float *weights; /* [out][kernel rows][kernel columns][in] */
    const float *bias;
} mote_transpose_conv_f32_t;

/* One output pixel from the input rows that reach it and their columns lo..hi-1; `ky` and `kx` are the taps
 * that rows[0] and column lo reach it by. */
static inline void mote_transpose_conv_f32_pixel(const mote_transpose_conv_f32_t *p, const float *const *rows,
                                                 int32_t taps, int32_t ky, int32_t kx, int32_t lo, int32_t hi,
                                                 float *out) {
    const int32_t c = p->in_channels, line = p->columns.taps * c;
    const float *w = p->weights;
    for (int32_t o = 0; o < p->out_channels; o++, w += p->rows.taps * line) {
        float sum = 0.0f;
        for (int32_t k = 0; k < taps; k++) {
            const float *taps_of_row = w + (ky - k * p->rows.stride) * line;
            for (int32_t i = lo; rows[k] != NULL && i < hi; i++) {
                const float *const tap = taps_of_row + (kx - (i - lo) * p->columns.stride) * c;
                sum = mote_dot_f32(sum, rows[k] + i * c, tap, c);
            }
        }
        *out++ = mote_clamp_f32(sum + p->bias[o], p->low, p->high);
    }
}

/* Output row y (of all images). `rows` are the input rows that reach it, top to bottom, NULL for those outside the
 * image. */
static inline void mote_transpose_conv_f32_row(const mote_transpose_conv_f32_t *p, const float *const *rows, int32_t y,
                                               float *out) {
    const mote_spread_t *s = &p->columns;
    const int32_t phase_y = (y % p->out_rows + p->rows.pad) % p->rows.stride;
    const int32_t taps = mote_spread_taps(&p->rows, phase_y), ky = phase_y + (taps - 1) * p->rows.stride;
    int32_t last = s->pad / s->stride, phase = s->pad % s->stride;
    for (int32_t x = 0; x < p->out_columns; x++, out += p->out_channels) {
        const int32_t first = last - mote_spread_taps(s, phase) + 1;
        const int32_t lo = first < 0 ? 0 : first, hi = mote_min(last + 1, p->in_columns);
        mote_transpose_conv_f32_pixel(p, rows, taps, ky, phase + (last - lo) * s->stride, lo, hi, out);
        if (++phase == s->stride) {
            phase = 0;
            last++;
        }
    }
}

static inline void mote_transpose_conv_f32(const mote_transpose_conv_f32_t *p, const float *in, float *out, int32_t lo,
                                           int32_t hi) {
    const float *rows[MOTE_MAX_TAPS];
    const int32_t stride = p->in_columns * p->in_channels;
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows, at = y - image * p->out_rows + p->rows.pad;
        const int32_t taps = mote_spread_taps(&p->rows, at % p->rows.stride);
        int32_t row = at / p->rows.stride - taps + 1;
        for (int32_t k = 0; k < taps; k++, row++) {
            const int inside = row >= 0 && row < p->in_rows;
            rows[k] = inside ? in + (image * p->in_rows + row) * stride : NULL;
        }
        mote_transpose_conv_f32_row(p, rows, y, out + y * p->out_columns * p->out_channels);
    }
}

#endif
