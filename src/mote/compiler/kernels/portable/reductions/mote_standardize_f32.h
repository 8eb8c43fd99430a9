/* mote_standardize_f32.h: float32 vectors over their standard deviation, or over their root mean square. */
#ifndef MOTE_STANDARDIZE_F32_H
#define MOTE_STANDARDIZE_F32_H

#include "mote_math.h"

typedef struct {
    int32_t depth;
    float epsilon;
    const float *scale, *bias; /* NULL where there is none */
} mote_standardize_f32_t;

typedef mote_standardize_f32_t mote_root_mean_square_f32_t;

/* The sum of n numbers, in four parts: as exact as adding a quarter of them. */
static inline float mote_standardize_sum_f32(const float *x, int32_t n) {
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (; n >= 4; n -= 4, x += 4) {
        a += x[0];
        b += x[1];
        c += x[2];
        d += x[3];
    }
    for (; n > 0; n--) {
        a += *x++;
    }
    return (a + b) + (c + d);
}

/* The same of the squares of their distances from a number. */
static inline float mote_standardize_squares_f32(const float *x, int32_t n, float mean) {
    float a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    for (; n >= 4; n -= 4, x += 4) {
        const float p = x[0] - mean, q = x[1] - mean, r = x[2] - mean, s = x[3] - mean;
        a = mote_add_product_f32(a, p, p);
        b = mote_add_product_f32(b, q, q);
        c = mote_add_product_f32(c, r, r);
        d = mote_add_product_f32(d, s, s);
    }
    for (; n > 0; n--, x++) {
        a = mote_add_product_f32(a, *x - mean, *x - mean);
    }
    return (a + b) + (c + d);
}

static inline void mote_standardize_line_f32(const mote_standardize_f32_t *p, const float *in, float mean, float *out) {
    const int32_t n = p->depth;
    const float squares = mote_standardize_squares_f32(in, n, mean);
    const float inverse = 1.0f / mote_sqrtf(squares / (float)n + p->epsilon);
    if (p->scale != NULL && p->bias != NULL) {
        for (int32_t i = 0; i < n; i++) {
            out[i] = mote_add_product_f32(p->bias[i], (in[i] - mean) * inverse, p->scale[i]);
        }
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        const float y = (in[i] - mean) * inverse * (p->scale == NULL ? 1.0f : p->scale[i]);
        out[i] = p->bias == NULL ? y : y + p->bias[i];
    }
}

static inline void mote_standardize_f32(const mote_standardize_f32_t *p, const float *in, float *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        mote_standardize_line_f32(p, in, mote_standardize_sum_f32(in, p->depth) / (float)p->depth, out);
    }
}

static inline void mote_root_mean_square_f32(const mote_root_mean_square_f32_t *p, const float *in, float *out,
                                             int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        mote_standardize_line_f32(p, in, 0.0f, out);
    }
}

#endif
