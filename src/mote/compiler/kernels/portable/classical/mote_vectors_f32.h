/* mote_vectors_f32.h: how near a float32 vector is to each of those that a model holds. */
#ifndef MOTE_VECTORS_F32_H
#define MOTE_VECTORS_F32_H

#include "mote_math.h"

typedef struct {
    int32_t depth, count;
    int32_t metric;       /* 0: sums of squares of differences, 1: their roots, 2: sums of differences */
    const float *vectors; /* [count][depth] */
} mote_distances_f32_t;

typedef struct {
    int32_t depth, count;
    int32_t metric;
    const float *vectors;
    const float *weights; /* [count][depth]: of each square, or difference */
} mote_weighted_distances_f32_t;

/* The square of a difference, or its size. */
static inline float mote_apart_f32(float a, float b, int32_t metric) {
    const float difference = a - b;
    return metric == 2 ? mote_fabsf(difference) : difference * difference;
}

static inline void mote_distances_f32(const mote_distances_f32_t *p, const float *in, float *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth) {
        const float *v = p->vectors;
        for (int32_t i = 0; i < p->count; i++) {
            float sum = 0.0f;
            for (int32_t k = 0; k < p->depth; k++) {
                sum += mote_apart_f32(in[k], *v++, p->metric);
            }
            *out++ = p->metric == 1 ? mote_sqrtf(sum) : sum;
        }
    }
}

static inline void mote_weighted_distances_f32(const mote_weighted_distances_f32_t *p, const float *in, float *out,
                                               int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth) {
        const float *v = p->vectors, *w = p->weights;
        for (int32_t i = 0; i < p->count; i++) {
            float sum = 0.0f;
            for (int32_t k = 0; k < p->depth; k++) {
                sum = mote_add_product_f32(sum, mote_apart_f32(in[k], *v++, p->metric), *w++);
            }
            *out++ = p->metric == 1 ? mote_sqrtf(sum) : sum;
        }
    }
}

/* The sums that decide between each two classes. What a vector makes with the input is used at once, so that nothing
 * is kept but the sums: those of a class against classes before it are a shrinking step apart, the others follow. */
typedef struct {
    int32_t depth, classes;
    int32_t degree;            /* of polynomials */
    float gamma, offset;
    const int32_t *counts;     /* [classes]: vectors of each */
    const float *vectors;      /* [all of them][depth] */
    const float *coefficients; /* [all of them][classes - 1] */
    const float *intercepts;   /* [classes * (classes - 1) / 2] */
} mote_support_f32_t;

typedef mote_support_f32_t mote_support_poly_f32_t;
typedef mote_support_f32_t mote_support_rbf_f32_t;
typedef mote_support_f32_t mote_support_sigmoid_f32_t;

static inline float mote_inner_f32(const mote_support_f32_t *p, const float *a, const float *b) {
    float sum = 0.0f;
    for (int32_t k = 0; k < p->depth; k++) {
        sum = mote_add_product_f32(sum, a[k], b[k]);
    }
    return p->gamma * sum + p->offset;
}

static inline float mote_poly_f32(const mote_support_f32_t *p, const float *a, const float *b) {
    const float x = mote_inner_f32(p, a, b);
    float y = 1.0f;
    for (int32_t i = 0; i < p->degree; i++) {
        y *= x;
    }
    return y;
}

static inline float mote_rbf_f32(const mote_support_f32_t *p, const float *a, const float *b) {
    float sum = 0.0f;
    for (int32_t k = 0; k < p->depth; k++) {
        const float difference = a[k] - b[k];
        sum = mote_add_product_f32(sum, difference, difference);
    }
    return mote_expf(-p->gamma * sum);
}

static inline float mote_sigmoid_f32(const mote_support_f32_t *p, const float *a, const float *b) {
    return mote_tanhf(mote_inner_f32(p, a, b));
}

#define MOTE_SUPPORT(function)                                                                                        \
    static inline void mote_support_##function##_f32(const mote_support_##function##_f32_t *p, const float *in,       \
                                                     float *out, int32_t vectors) {                                   \
        const int32_t pairs = p->classes * (p->classes - 1) / 2;                                                      \
        for (; vectors > 0; vectors--, in += p->depth, out += pairs) {                                                \
            const float *v = p->vectors, *c = p->coefficients;                                                        \
            for (int32_t i = 0; i < pairs; i++) {                                                                     \
                out[i] = p->intercepts[i];                                                                            \
            }                                                                                                         \
            for (int32_t own = 0; own < p->classes; own++) {                                                          \
                for (int32_t n = p->counts[own]; n > 0; n--, v += p->depth) {                                         \
                    const float y = mote_##function##_f32(p, in, v);                                                  \
                    int32_t at = own - 1;                                                                             \
                    for (int32_t other = 0; other < own; other++) {                                                   \
                        out[at] = mote_add_product_f32(out[at], y, *c++);                                             \
                        at += p->classes - 2 - other;                                                                 \
                    }                                                                                                 \
                    for (int32_t other = own + 1; other < p->classes; other++) {                                      \
                        at++;                                                                                         \
                        out[at] = mote_add_product_f32(out[at], y, *c++);                                             \
                    }                                                                                                 \
                }                                                                                                     \
            }                                                                                                         \
        }                                                                                                             \
    }

MOTE_SUPPORT(poly)
MOTE_SUPPORT(rbf)
MOTE_SUPPORT(sigmoid)

#endif
