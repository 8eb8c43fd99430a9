/* mote_standardize_f32.h: float32 vectors over their standard deviation, or over their root mean square. */
#ifndef MOTE_STANDARDIZE_F32_H
#define MOTE_STANDARDIZE_F32_H

#include "mote_line_f32.h"
#include "mote_math.h"

typedef struct {
    int32_t depth;
    float epsilon;
    const float *scale, *bias; /* NULL where there is none */
} mote_standardize_f32_t;

typedef mote_standardize_f32_t mote_root_mean_square_f32_t;

static inline void mote_standardize_line_f32(const mote_standardize_f32_t *p, const float *in, float mean, float *out) {
    const int32_t n = p->depth;
    const float squares = mote_line_squares_f32(in, n, mean);
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
        mote_standardize_line_f32(p, in, mote_line_sum_f32(in, p->depth) / (float)p->depth, out);
    }
}

static inline void mote_root_mean_square_f32(const mote_root_mean_square_f32_t *p, const float *in, float *out,
                                             int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        mote_standardize_line_f32(p, in, 0.0f, out);
    }
}

#endif
