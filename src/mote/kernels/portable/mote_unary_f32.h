/* mote_unary_f32.h: float32 functions of one tensor. The only function of the C library is expf. */
#ifndef MOTE_UNARY_F32_H
#define MOTE_UNARY_F32_H

#include <math.h>

#include "mote_common.h"

typedef struct {
    int32_t unused; /* these have no parameters, but C has no empty structs */
} mote_logistic_f32_t;
typedef mote_logistic_f32_t mote_tanh_f32_t;
typedef mote_logistic_f32_t mote_hard_swish_f32_t;

typedef struct {
    float low, high;
} mote_relu_f32_t;

typedef struct {
    float alpha;
} mote_leaky_relu_f32_t;

/* The argument of expf is never positive, so that nothing overflows. */
static inline void mote_logistic_f32(const mote_logistic_f32_t *p, const float *in, float *out, int32_t n) {
    (void)p;
    for (; n > 0; n--) {
        const float x = *in++;
        const float e = expf(x < 0.0f ? x : -x);
        *out++ = (x < 0.0f ? e : 1.0f) / (1.0f + e);
    }
}

/* (1 - exp(-2x)) / (1 + exp(-2x)) cancels near zero: there the first terms of the series are used. */
static inline void mote_tanh_f32(const mote_tanh_f32_t *p, const float *in, float *out, int32_t n) {
    (void)p;
    for (; n > 0; n--) {
        const float x = *in++;
        const float magnitude = x < 0.0f ? -x : x;
        if (magnitude < 0.2f) {
            const float s = x * x;
            *out++ = x + x * s * (-1.0f / 3.0f + s * (2.0f / 15.0f - s * (17.0f / 315.0f)));
        } else {
            const float e = expf(-2.0f * magnitude);
            const float y = (1.0f - e) / (1.0f + e);
            *out++ = x < 0.0f ? -y : y;
        }
    }
}

static inline void mote_hard_swish_f32(const mote_hard_swish_f32_t *p, const float *in, float *out, int32_t n) {
    (void)p;
    for (; n > 0; n--) {
        const float x = *in++;
        *out++ = x * mote_clamp_f32(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f);
    }
}

static inline void mote_relu_f32(const mote_relu_f32_t *p, const float *in, float *out, int32_t n) {
    const float low = p->low, high = p->high;
    for (; n > 0; n--) {
        *out++ = mote_clamp_f32(*in++, low, high);
    }
}

static inline void mote_leaky_relu_f32(const mote_leaky_relu_f32_t *p, const float *in, float *out, int32_t n) {
    const float alpha = p->alpha;
    for (; n > 0; n--) {
        const float x = *in++;
        *out++ = x > 0.0f ? x : x * alpha;
    }
}

#endif
