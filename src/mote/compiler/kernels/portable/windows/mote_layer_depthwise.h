/* mote_layer_depthwise.h: depthwise convolution of any window and depth multiplier in any type; see mote_layer.h. */
#ifndef MOTE_LAYER_DEPTHWISE_H
#define MOTE_LAYER_DEPTHWISE_H

#include "mote_layer.h"

#define MOTE_LAYER_DEPTHWISE(name, in_t, weight_t, each_t, sum_t, out_t, finish_t, zero_of, add, start_of, finish_of, \
                             dots) \
    typedef struct { \
        mote_window_t rows; \
        mote_span_t cols; \
        int32_t in_channels, channels, multiplier; \
        int32_t in_zero; \
        const weight_t *weights; /* [kernel rows][kernel columns][channels] */ \
        finish_t finish; \
    } mote_##name##_t; \
\
    dots(name, in_t, weight_t, each_t, sum_t, add) \
    MOTE_WINDOW_OF(name, in_t) \
\
    /* Four neighbouring channels; `at` is where the first one lies in the rows, `columns` of which are read. */ \
    MOTE_UNUSED static inline void mote_##name##_four(const mote_##name##_t *p, const in_t *const *rows, int32_t at, \
                                                      int32_t columns, const weight_t *w, sum_t *sums) { \
        const int32_t step = p->cols.spread * p->in_channels, channels = p->channels; \
        const each_t zero = zero_of(p); \
        sum_t a = sums[0], b = sums[1], c = sums[2], d = sums[3]; \
        for (int32_t k = 0; k < p->rows.taps; k++, w += p->cols.taps * channels) { \
            const in_t *x = rows[k]; \
            const weight_t *v = w; \
            if (x == NULL) { \
                continue; \
            } \
            for (int32_t t = columns, i = at; t > 0; t--, i += step, v += channels) { \
                a = add(a, x[i] - zero, v[0]); \
                b = add(b, x[i + 1] - zero, v[1]); \
                c = add(c, x[i + 2] - zero, v[2]); \
                d = add(d, x[i + 3] - zero, v[3]); \
            } \
        } \
        sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d; \
    } \
\
    MOTE_UNUSED static inline sum_t mote_##name##_one(const mote_##name##_t *p, const in_t *const *rows, int32_t at, \
                                                      int32_t columns, const weight_t *w, sum_t sum) { \
        const int32_t step = p->cols.spread * p->in_channels, channels = p->channels; \
        const each_t zero = zero_of(p); \
        for (int32_t k = 0; k < p->rows.taps; k++, w += p->cols.taps * channels) { \
            for (int32_t t = 0; rows[k] != NULL && t < columns; t++) { \
                sum = add(sum, rows[k][at + t * step] - zero, w[t * channels]); \
            } \
        } \
        return sum; \
    } \
\
    MOTE_NOINLINE void mote_##name##_row(const mote_##name##_t *p, const in_t *const *rows, out_t *out) { \
        const mote_span_t *s = &p->cols; \
        const finish_t *f = &p->finish; \
        const int32_t fours = mote_##name##_fours && p->multiplier == 1 ? p->channels - p->channels % 4 : 0; \
        for (int32_t x = 0; x < s->out_size; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            const int32_t columns = hi > lo ? hi - lo : 0; \
            const weight_t *w = p->weights + (columns > 0 ? lo * p->channels : 0); \
            const int32_t at = columns > 0 ? (first + lo * s->spread) * p->in_channels : 0; \
            for (int32_t c = 0; c < fours; c += 4, out += 4) { \
                sum_t sums[4] = {start_of(f, c), start_of(f, c + 1), start_of(f, c + 2), start_of(f, c + 3)}; \
                mote_##name##_four(p, rows, at + c, columns, w + c, sums); \
                out[0] = finish_of(f, c, sums[0]); \
                out[1] = finish_of(f, c + 1, sums[1]); \
                out[2] = finish_of(f, c + 2, sums[2]); \
                out[3] = finish_of(f, c + 3, sums[3]); \
            } \
            for (int32_t c = fours, input = fours, copy = 0; c < p->channels; c++) { \
                const sum_t sum = mote_##name##_one(p, rows, at + input, columns, w + c, start_of(f, c)); \
                *out++ = finish_of(f, c, sum); \
                if (++copy == p->multiplier) { \
                    copy = 0; \
                    input++; \
                } \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(name, in_t, out_t, name, rows)

#endif
