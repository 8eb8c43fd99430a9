/* mote_layer_conv2d.h: convolution of any window in any type, also of groups of channels; see mote_layer.h. */
#ifndef MOTE_LAYER_CONV2D_H
#define MOTE_LAYER_CONV2D_H

#include "mote_layer.h"

/* Output channels of a group read the `depth` input channels of that group. */
#define MOTE_LAYER_CONV2D(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, add, start_of, finish_of, \
                          dots) \
    typedef struct { \
        mote_window_t rows; \
        mote_span_t cols; \
        int32_t in_channels, groups, depth, outputs; /* the last two of a group */ \
        int32_t in_zero; \
        const weight_t *weights; /* [output channels][kernel rows][kernel columns][depth] */ \
        finish_t finish; \
    } mote_##name##_t; \
\
    dots(name, in_t, weight_t, each_t, sum_t, add) \
    MOTE_WINDOW_OF(name, in_t) \
\
    /* Adds the window whose column `lo` lies `at` elements behind the beginning of a row: `columns` of each row. */ \
    MOTE_UNUSED static inline void mote_##name##_four(const mote_##name##_t *p, const in_t *const *rows, int32_t at, \
                                                      int32_t columns, const weight_t *w, sum_t *sums) { \
        const int32_t depth = p->depth, line = p->cols.taps * depth, pitch = p->rows.taps * line; \
        const int32_t step = p->cols.spread * p->in_channels, joined = step == depth ? columns : 1; \
        for (int32_t k = 0; k < p->rows.taps; k++, w += line) { \
            for (int32_t t = 0; rows[k] != NULL && t < columns; t += joined) { \
                mote_##name##_dots(rows[k] + at + t * step, w + t * depth, pitch, joined * depth, zero_of(p), sums); \
            } \
        } \
    } \
\
    MOTE_UNUSED static inline sum_t mote_##name##_one(const mote_##name##_t *p, const in_t *const *rows, int32_t at, \
                                                      int32_t columns, const weight_t *w, sum_t sum) { \
        const int32_t depth = p->depth, line = p->cols.taps * depth; \
        const int32_t step = p->cols.spread * p->in_channels, joined = step == depth ? columns : 1; \
        for (int32_t k = 0; k < p->rows.taps; k++, w += line) { \
            for (int32_t t = 0; rows[k] != NULL && t < columns; t += joined) { \
                sum = mote_##name##_dot(rows[k] + at + t * step, w + t * depth, joined * depth, zero_of(p), sum); \
            } \
        } \
        return sum; \
    } \
\
    MOTE_NOINLINE void mote_##name##_row(const mote_##name##_t *p, const in_t *const *rows, out_t *out) { \
        const mote_span_t *s = &p->cols; \
        const finish_t *f = &p->finish; \
        const int32_t pitch = p->rows.taps * s->taps * p->depth; \
        for (int32_t x = 0; x < s->out_size; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            const int32_t columns = hi > lo ? hi - lo : 0; \
            const weight_t *w = p->weights + (columns > 0 ? lo * p->depth : 0); \
            int32_t at = columns > 0 ? (first + lo * s->spread) * p->in_channels : 0; \
            for (int32_t g = 0, c = 0; g < p->groups; g++, at += p->depth) { \
                const int32_t end = c + p->outputs; \
                for (; mote_##name##_fours && c + 4 <= end; c += 4, w += 4 * pitch, out += 4) { \
                    sum_t sums[4] = {start_of(f, c), start_of(f, c + 1), start_of(f, c + 2), start_of(f, c + 3)}; \
                    mote_##name##_four(p, rows, at, columns, w, sums); \
                    out[0] = finish_of(f, c, sums[0]); \
                    out[1] = finish_of(f, c + 1, sums[1]); \
                    out[2] = finish_of(f, c + 2, sums[2]); \
                    out[3] = finish_of(f, c + 3, sums[3]); \
                } \
                for (; c < end; c++, w += pitch) { \
                    const sum_t sum = mote_##name##_one(p, rows, at, columns, w, start_of(f, c)); \
                    *out++ = finish_of(f, c, sum); \
                } \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(name, in_t, out_t, name, rows)

#endif
