/* mote_pool_f32.h: float32 pooling over any window: averages, maxima, and roots of means of squares; padding takes no part. */
#ifndef MOTE_POOL_F32_H
#define MOTE_POOL_F32_H

#include "mote_math.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    float low, high; /* the range of the fused activation */
} mote_pool_f32_t;

typedef mote_pool_f32_t mote_avg_pool_f32_t, mote_max_pool_f32_t, mote_l2_pool_f32_t;

/* Where a result begins, a value that becomes part of it, and what becomes of it then. */
#define MOTE_POOL_ZERO(p) 0.0f
#define MOTE_POOL_LOW(p) (p)->low
#define MOTE_POOL_ADD(sum, v) ((sum) + (v))
#define MOTE_POOL_ADD_SQUARE(sum, v) ((sum) + (v) * (v))
#define MOTE_POOL_MAX(most, v) ((v) > (most) ? (v) : (most))
#define MOTE_POOL_MEAN(p, sum, count) mote_clamp_f32((sum) / (float)(count), (p)->low, (p)->high)
#define MOTE_POOL_ROOT(p, sum, count) mote_clamp_f32(mote_sqrtf((sum) / (float)(count)), (p)->low, (p)->high)
#define MOTE_POOL_MOST(p, most, count) ((most) < (p)->high ? (most) : (p)->high)

#define MOTE_POOL_F32(name, start, with, finish) \
    static inline void mote_##name##_row(const mote_##name##_t *p, const float *const *rows, float *out) { \
        const mote_span_t *s = &p->cols; \
        for (int32_t x = 0; x < s->out_size; x++) { \
            const int32_t first = x * s->step - s->pad; \
            const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first); \
            for (int32_t c = 0; c < p->channels; c++) { \
                float result = start(p); \
                int32_t count = 0; \
                for (int32_t k = 0; k < p->rows.taps; k++) { \
                    if (rows[k] == NULL) { \
                        continue; \
                    } \
                    for (int32_t t = lo; t < hi; t++, count++) { \
                        const float v = rows[k][(first + t) * p->channels + c]; \
                        result = with(result, v); \
                    } \
                } \
                *out++ = finish(p, result, count); \
            } \
        } \
    } \
\
    MOTE_BY_ROWS(name, float, f32, rows)

MOTE_POOL_F32(avg_pool_f32, MOTE_POOL_ZERO, MOTE_POOL_ADD, MOTE_POOL_MEAN)
MOTE_POOL_F32(max_pool_f32, MOTE_POOL_LOW, MOTE_POOL_MAX, MOTE_POOL_MOST)
MOTE_POOL_F32(l2_pool_f32, MOTE_POOL_ZERO, MOTE_POOL_ADD_SQUARE, MOTE_POOL_ROOT)

#endif
