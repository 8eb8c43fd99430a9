/* mote_conv2d_s8.h: int8 convolution of any kernel size, stride, dilation and padding. */
#ifndef MOTE_CONV2D_S8_H
#define MOTE_CONV2D_S8_H

#include "mote_gemm_s8.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels;
    int32_t in_zero; /* what padding holds */
} mote_patch_t;

typedef struct {
    mote_patch_t patch;
    mote_gemm_s8_t gemm;
} mote_conv2d_s8_t;

/* Copy the window under output column x into `to`, row by row, so that it lies as the weights do. */
static inline void mote_gather(const mote_patch_t *p, const int8_t *const *rows, int32_t x, int8_t *to) {
    const mote_span_t *s = &p->cols;
    const int32_t c = p->in_channels, first = x * s->step - s->pad;
    const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
    const size_t pixel = (size_t)c, line = (size_t)(s->taps * c);
    for (int32_t k = 0; k < p->rows.taps; k++, to += line) {
        const int8_t *row = rows[k];
        if (row == NULL || hi <= lo) {
            memset(to, (int)p->in_zero, line);
        } else if (s->spread == 1) {
            if (lo > 0) {
                memset(to, (int)p->in_zero, (size_t)lo * pixel);
            }
            memcpy(to + lo * c, row + (first + lo) * c, (size_t)(hi - lo) * pixel);
            if (hi < s->taps) {
                memset(to + hi * c, (int)p->in_zero, (size_t)(s->taps - hi) * pixel);
            }
        } else {
            memset(to, (int)p->in_zero, line);
            for (int32_t t = lo; t < hi; t++) {
                memcpy(to + t * c, row + (first + t * s->spread) * c, pixel);
            }
        }
    }
}

/* A convolution whose `layer` has products for two pixels and for one, mote_<products>_2 and _1, and the sizes `gemm`. */
#define MOTE_CONV2D_S8(name, layer, gemm, products) \
    /* One output row. `scratch` holds two windows. */ \
    static inline void mote_##name##_row(const mote_##name##_t *p, const int8_t *const *rows, int8_t *out, \
                                         int8_t *scratch) { \
        const int32_t pixel = p->gemm.pixel, depth = p->gemm.depth; \
        int32_t x = 0; \
        for (; x + 1 < p->patch.cols.out_size; x += 2, out += 2 * pixel) { \
            mote_gather(&p->patch, rows, x, scratch); \
            mote_gather(&p->patch, rows, x + 1, scratch + depth); \
            mote_##products##_2(&p->layer, scratch, scratch + depth, out); \
        } \
        if (x < p->patch.cols.out_size) { \
            mote_gather(&p->patch, rows, x, scratch); \
            mote_##products##_1(&p->layer, scratch, out); \
        } \
    } \
\
    static inline void mote_##name(const mote_##name##_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi, \
                                   int8_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->patch.rows, in, y, rows); \
            mote_##name##_row(p, rows, out + y * p->patch.rows.out_stride, scratch); \
        } \
    }

MOTE_CONV2D_S8(conv2d_s8, gemm, gemm, gemm)

#endif
