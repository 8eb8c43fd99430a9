/* mote_line_steps_f32.h: steps of float32 lines (mote_lines.h) with one number for the whole line: sums, products, means,
 * and the mean of squared differences. */
#ifndef MOTE_LINE_STEPS_F32_H
#define MOTE_LINE_STEPS_F32_H

#include "mote_line_f32.h"

typedef struct {
    int32_t size;
} mote_mean_line_f32_t;

typedef mote_mean_line_f32_t mote_squares_line_f32_t;

static inline void mote_mean_line_f32(const mote_mean_line_f32_t *p, const float *x, float *out, int32_t lines) {
    for (; lines > 0; lines--, x += p->size) {
        *out++ = mote_line_sum_f32(x, p->size) / (float)p->size;
    }
}

static inline void mote_squares_line_f32(const mote_squares_line_f32_t *p, const float *x, const float *y, float *out,
                                         int32_t lines) {
    for (; lines > 0; lines--, x += p->size) {
        *out++ = mote_line_squares_f32(x, p->size, *y++) / (float)p->size;
    }
}

/* The activation is between `low` and `high`; `sign` is that of y. */
typedef struct {
    float sign, low, high;
} mote_add_line_f32_t;

typedef struct {
    float low, high;
} mote_mul_line_f32_t;

static inline void mote_add_line_f32(const mote_add_line_f32_t *p, const float *x, const float *y, float *out,
                                     int32_t n) {
    const float low = p->low, high = p->high, by = p->sign * *y;
    for (int32_t i = mote_line_plus_f32(x, by, out, n, low, high); i < n; i++) {
        out[i] = mote_clamp_f32(x[i] + by, low, high);
    }
}

static inline void mote_mul_line_f32(const mote_mul_line_f32_t *p, const float *x, const float *y, float *out,
                                     int32_t n) {
    const float low = p->low, high = p->high, by = *y;
    for (int32_t i = mote_line_times_f32(x, by, out, n, low, high); i < n; i++) {
        out[i] = mote_clamp_f32(x[i] * by, low, high);
    }
}

#endif
