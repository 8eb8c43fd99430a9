/* mote_layer_transpose_conv.h: transposed convolution of any kernel size, stride and padding in any type; see
 * mote_layer.h and mote_transpose_conv.h. */
#ifndef MOTE_LAYER_TRANSPOSE_CONV_H
#define MOTE_LAYER_TRANSPOSE_CONV_H

#include "mote_layer.h"
#include "mote_transpose_conv.h"

#define MOTE_LAYER_TRANSPOSE_CONV(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, add, start_of, \
                                  finish_of, dots) \
    typedef struct { \
        int32_t in_rows, in_columns, in_channels; \
        int32_t out_rows, out_columns, out_channels; \
        mote_spread_t rows, columns; \
        int32_t in_zero; \
        const weight_t *weights; /* [out][kernel rows][kernel columns][in] */ \
        finish_t finish; \
    } mote_##name##_t; \
\
    dots(name, in_t, weight_t, each_t, sum_t, add) \
\
    /* One output pixel from the input rows that reach it and their columns lo..hi-1; `ky` and `kx` are the taps \
     * that rows[0] and column lo reach it by. */ \
    MOTE_UNUSED static inline void mote_##name##_pixel(const mote_##name##_t *p, const in_t *const *rows, \
                                                       int32_t taps, int32_t ky, int32_t kx, int32_t lo, int32_t hi, \
                                                       out_t *out) { \
        const int32_t depth = p->in_channels, line = p->columns.taps * depth, pitch = p->rows.taps * line; \
        const finish_t *f = &p->finish; \
        int32_t c = 0; \
        for (; mote_##name##_fours && c + 4 <= p->out_channels; c += 4) { \
            sum_t sums[4] = {start_of(f, c), start_of(f, c + 1), start_of(f, c + 2), start_of(f, c + 3)}; \
            for (int32_t k = 0; k < taps; k++) { \
                const weight_t *w = p->weights + c * pitch + (ky - k * p->rows.stride) * line; \
                for (int32_t i = lo; rows[k] != NULL && i < hi; i++) { \
                    mote_##name##_dots(rows[k] + i * depth, w + (kx - (i - lo) * p->columns.stride) * depth, pitch, \
                                       depth, zero_of(p), sums); \
                } \
            } \
            out[c] = finish_of(f, c, sums[0]); \
            out[c + 1] = finish_of(f, c + 1, sums[1]); \
            out[c + 2] = finish_of(f, c + 2, sums[2]); \
            out[c + 3] = finish_of(f, c + 3, sums[3]); \
        } \
        for (; c < p->out_channels; c++) { \
            sum_t sum = start_of(f, c); \
            for (int32_t k = 0; k < taps; k++) { \
                const weight_t *w = p->weights + c * pitch + (ky - k * p->rows.stride) * line; \
                for (int32_t i = lo; rows[k] != NULL && i < hi; i++) { \
                    sum = mote_##name##_dot(rows[k] + i * depth, w + (kx - (i - lo) * p->columns.stride) * depth, \
                                            depth, zero_of(p), sum); \
                } \
            } \
            out[c] = finish_of(f, c, sum); \
        } \
    } \
\
    /* Output row y (of all images). `rows` are the input rows that reach it, top to bottom, NULL for those outside \
     * the image. */ \
    MOTE_NOINLINE void mote_##name##_row(const mote_##name##_t *p, const in_t *const *rows, int32_t y, out_t *out) { \
        const mote_spread_t *s = &p->columns; \
        const int32_t phase_y = (y % p->out_rows + p->rows.pad) % p->rows.stride; \
        const int32_t taps = mote_spread_taps(&p->rows, phase_y), ky = phase_y + (taps - 1) * p->rows.stride; \
        int32_t last = s->pad / s->stride, phase = s->pad % s->stride; \
        for (int32_t x = 0; x < p->out_columns; x++, out += p->out_channels) { \
            const int32_t first = last - mote_spread_taps(s, phase) + 1; \
            const int32_t lo = first < 0 ? 0 : first, hi = mote_min(last + 1, p->in_columns); \
            mote_##name##_pixel(p, rows, taps, ky, phase + (last - lo) * s->stride, lo, hi, out); \
            if (++phase == s->stride) { \
                phase = 0; \
                last++; \
            } \
        } \
    } \
\
    MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const in_t *in, out_t *out, int32_t lo, \
                                               int32_t hi) { \
        const in_t *rows[MOTE_MAX_TAPS]; \
        const int32_t stride = p->in_columns * p->in_channels; \
        for (int32_t y = lo; y < hi; y++) { \
            const int32_t image = y / p->out_rows, at = y - image * p->out_rows + p->rows.pad; \
            const int32_t taps = mote_spread_taps(&p->rows, at % p->rows.stride); \
            int32_t row = at / p->rows.stride - taps + 1; \
            for (int32_t k = 0; k < taps; k++, row++) { \
                const int inside = row >= 0 && row < p->in_rows; \
                rows[k] = inside ? in + (image * p->in_rows + row) * stride : NULL; \
            } \
            mote_##name##_row(p, rows, y, out + y * p->out_columns * p->out_channels); \
        } \
    }

#endif
