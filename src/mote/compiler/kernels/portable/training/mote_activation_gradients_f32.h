/* mote_activation_gradients_f32.h: gradients of activations, element by element, from the gradient of the output and the
 * activation's output or its input (`at`). */
#ifndef MOTE_ACTIVATION_GRADIENTS_F32_H
#define MOTE_ACTIVATION_GRADIENTS_F32_H

#include "mote_common.h"

/* Of a clamp: the bounds between which its output has a gradient. */
typedef struct {
    float low, high;
} mote_relu_gradient_f32_t;

typedef struct {
    float alpha;
} mote_leaky_relu_gradient_f32_t;

typedef struct {
    int32_t unused; /* these have no parameters, but C has no empty structs */
} mote_logistic_gradient_f32_t;
typedef mote_logistic_gradient_f32_t mote_tanh_gradient_f32_t;
typedef mote_logistic_gradient_f32_t mote_hard_swish_gradient_f32_t;

static inline void mote_relu_gradient_f32(const mote_relu_gradient_f32_t *p, const float *gradient, const float *at,
                                          float *out, int32_t n) {
    const float low = p->low, high = p->high;
    for (; n > 0; n--, gradient++, at++) {
        *out++ = *at > low && *at < high ? *gradient : 0.0f;
    }
}

static inline void mote_leaky_relu_gradient_f32(const mote_leaky_relu_gradient_f32_t *p, const float *gradient,
                                                const float *at, float *out, int32_t n) {
    const float alpha = p->alpha;
    for (; n > 0; n--, gradient++, at++) {
        *out++ = *at > 0.0f ? *gradient : *gradient * alpha;
    }
}

static inline void mote_logistic_gradient_f32(const mote_logistic_gradient_f32_t *p, const float *gradient,
                                              const float *at, float *out, int32_t n) {
    (void)p;
    for (; n > 0; n--, gradient++, at++) {
        *out++ = *gradient * (*at * (1.0f - *at));
    }
}

static inline void mote_tanh_gradient_f32(const mote_tanh_gradient_f32_t *p, const float *gradient, const float *at,
                                          float *out, int32_t n) {
    (void)p;
    for (; n > 0; n--, gradient++, at++) {
        *out++ = *gradient * (1.0f - *at * *at);
    }
}

static inline void mote_hard_swish_gradient_f32(const mote_hard_swish_gradient_f32_t *p, const float *gradient,
                                                const float *at, float *out, int32_t n) {
    (void)p;
    for (; n > 0; n--, gradient++, at++) {
        *out++ = *gradient * (*at <= -3.0f ? 0.0f : *at >= 3.0f ? 1.0f : *at / 3.0f + 0.5f);
    }
}

#endif
