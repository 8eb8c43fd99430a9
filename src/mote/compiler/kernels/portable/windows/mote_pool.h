/* mote_pool.h: pooling over any window in any type; padding takes no part. */
#ifndef MOTE_POOL_H
#define MOTE_POOL_H

#include "mote_common.h"

/* `start(p)` is where a result begins, `with(result, v)` adds a value, and `finish(p, result, count)` is what becomes of
 * it then. */
#define MOTE_POOL(name, value_t, sum_t, suffix, start, with, finish) \
    MOTE_POOL_PIXELS(name, value_t, sum_t, start, with, finish) \
\
    static inline void mote_##name##_row(const mote_##name##_t *p, const value_t *const *rows, value_t *out) { \
        mote_##name##_pixels(p, rows, out, 0, p->cols.out_size); \
    } \
\
    MOTE_BY_ROWS(name, value_t, value_t, suffix, rows)

/* Pixels begin to end - 1 of a row. */
#define MOTE_POOL_PIXELS(name, value_t, sum_t, start, with, finish) \
    MOTE_ALWAYS_INLINE void mote_##name##_pixels(const mote_##name##_t *p, const value_t *const *rows, value_t *out, \
                                            int32_t begin, int32_t end) { \
        const mote_span_t *s = &p->cols; \
        out += begin * p->channels; \
        for (int32_t x = begin; x < end; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            for (int32_t c = 0; c < p->channels; c++) { \
                sum_t result = start(p); \
                int32_t count = 0; \
                for (int32_t k = 0; k < p->rows.taps; k++) { \
                    if (rows[k] == NULL) { \
                        continue; \
                    } \
                    for (int32_t t = lo; t < hi; t++, count++) { \
                        const value_t v = rows[k][(first + t) * p->channels + c]; \
                        result = with(result, v); \
                    } \
                } \
                *out++ = finish(p, result, count); \
            } \
        } \
    }

#define MOTE_POOL_ADD(sum, v) ((sum) + (v))
#define MOTE_POOL_MAX(most, v) ((v) > (most) ? (v) : (most))

#endif
