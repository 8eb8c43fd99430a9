/* mote_unary_f32.h: float32 functions of one tensor that many networks have. */
#ifndef MOTE_UNARY_F32_H
#define MOTE_UNARY_F32_H

#include "mote_math.h"
#include "mote_runs_f32.h"

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

static inline void mote_logistic_f32(const mote_logistic_f32_t *p, const float *in, float *out, int32_t n) {
    (void)p;
    if (mote_logistic_run_f32(in, out, n)) {
        return;
    }
    for (; n > 0; n--) {
        *out++ = mote_logisticf(*in++);
    }
}

static inline void mote_tanh_f32(const mote_tanh_f32_t *p, const float *in, float *out, int32_t n) {
    (void)p;
    if (mote_tanh_run_f32(in, out, n)) {
        return;
    }
    for (; n > 0; n--) {
        *out++ = mote_tanhf(*in++);
    }
}

static inline void mote_hard_swish_f32(const mote_hard_swish_f32_t *p, const float *in, float *out, int32_t n) {
    (void)p;
    if (mote_hard_swish_run_f32(in, out, n)) {
        return;
    }
    for (; n > 0; n--) {
        const float x = *in++;
        *out++ = x * mote_clamp_f32(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f);
    }
}

static inline void mote_relu_f32(const mote_relu_f32_t *p, const float *in, float *out, int32_t n) {
    const float low = p->low, high = p->high;
    if (mote_clamp_run_f32(in, out, n, low, high)) {
        return;
    }
    for (; n > 0; n--) {
        *out++ = mote_clamp_f32(*in++, low, high);
    }
}

static inline void mote_leaky_relu_f32(const mote_leaky_relu_f32_t *p, const float *in, float *out, int32_t n) {
    const float alpha = p->alpha;
    if (mote_leaky_run_f32(in, out, n, alpha)) {
        return;
    }
    for (; n > 0; n--) {
        const float x = *in++;
        *out++ = x > 0.0f ? x : x * alpha;
    }
}

#endif
