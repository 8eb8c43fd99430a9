/* mote_normalization_gradients_f32.h: gradients of SOFTMAX, of vectors over their standard deviation, and of those over
 * their root mean square; a vector at a time. The output may lie over an input: all sums are known before it is written. */
#ifndef MOTE_NORMALIZATION_GRADIENTS_F32_H
#define MOTE_NORMALIZATION_GRADIENTS_F32_H

#include "mote_dot_f32.h"
#include "mote_math.h"

typedef struct {
    int32_t depth;
    float beta;
} mote_softmax_gradient_f32_t;

typedef struct {
    int32_t depth;
    float epsilon;
} mote_standardize_gradient_f32_t;
typedef mote_standardize_gradient_f32_t mote_root_mean_square_gradient_f32_t;

static inline void mote_softmax_gradient_f32(const mote_softmax_gradient_f32_t *p, const float *gradient, const float *at,
                                             float *out, int32_t vectors) {
    for (; vectors > 0; vectors--, gradient += p->depth, at += p->depth, out += p->depth) {
        const float sum = mote_dot_f32(0.0f, gradient, at, p->depth);
        for (int32_t i = 0; i < p->depth; i++) {
            out[i] = p->beta * at[i] * (gradient[i] - sum);
        }
    }
}

static inline float mote_gradient_mean_f32(const float *x, int32_t n) {
    float sum = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum / (float)n;
}

/* Of x less `mean`, from the gradient less `level`. */
static inline void mote_gradient_line_f32(const mote_standardize_gradient_f32_t *p, const float *gradient, float level,
                                          const float *x, float mean, float *out) {
    const int32_t n = p->depth;
    float squares = 0.0f, products = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        const float z = x[i] - mean;
        squares = mote_add_product_f32(squares, z, z);
        products = mote_add_product_f32(products, gradient[i] - level, z);
    }
    const float variance = squares / (float)n + p->epsilon, inverse = 1.0f / mote_sqrtf(variance);
    const float slope = products / (float)n / variance;
    for (int32_t i = 0; i < n; i++) {
        out[i] = ((gradient[i] - level) - (x[i] - mean) * slope) * inverse;
    }
}

static inline void mote_standardize_gradient_f32(const mote_standardize_gradient_f32_t *p, const float *gradient,
                                                 const float *at, float *out, int32_t vectors) {
    for (; vectors > 0; vectors--, gradient += p->depth, at += p->depth, out += p->depth) {
        mote_gradient_line_f32(p, gradient, mote_gradient_mean_f32(gradient, p->depth), at,
                               mote_gradient_mean_f32(at, p->depth), out);
    }
}

static inline void mote_root_mean_square_gradient_f32(const mote_root_mean_square_gradient_f32_t *p, const float *gradient,
                                                      const float *at, float *out, int32_t vectors) {
    for (; vectors > 0; vectors--, gradient += p->depth, at += p->depth, out += p->depth) {
        mote_gradient_line_f32(p, gradient, 0.0f, at, 0.0f, out);
    }
}

#endif
