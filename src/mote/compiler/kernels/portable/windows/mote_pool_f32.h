/* mote_pool_f32.h: float32 pooling over any window: averages, maxima, and roots of means of squares; padding takes no part. */
#ifndef MOTE_POOL_F32_H
#define MOTE_POOL_F32_H

#include "mote_math.h"
#include "mote_pool.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    float low, high; /* the range of the fused activation */
} mote_pool_f32_t;

typedef mote_pool_f32_t mote_avg_pool_f32_t, mote_max_pool_f32_t, mote_l2_pool_f32_t;

#define MOTE_POOL_ZERO(p) 0.0f
#define MOTE_POOL_LOW(p) (p)->low
#define MOTE_POOL_ADD_SQUARE(sum, v) ((sum) + (v) * (v))
#define MOTE_POOL_MEAN(p, sum, count) mote_clamp_f32((sum) / (float)(count), (p)->low, (p)->high)
#define MOTE_POOL_ROOT(p, sum, count) mote_clamp_f32(mote_sqrtf((sum) / (float)(count)), (p)->low, (p)->high)
#define MOTE_POOL_MOST(p, most, count) ((most) < (p)->high ? (most) : (p)->high)

MOTE_POOL(avg_pool_f32, float, float, f32, MOTE_POOL_ZERO, MOTE_POOL_ADD, MOTE_POOL_MEAN)
MOTE_POOL(max_pool_f32, float, float, f32, MOTE_POOL_LOW, MOTE_POOL_MAX, MOTE_POOL_MOST)
MOTE_POOL(l2_pool_f32, float, float, f32, MOTE_POOL_ZERO, MOTE_POOL_ADD_SQUARE, MOTE_POOL_ROOT)

#endif
