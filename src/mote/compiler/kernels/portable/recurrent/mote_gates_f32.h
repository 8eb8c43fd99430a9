/* mote_gates_f32.h: the functions of gates of float32 recurrent layers. */
#ifndef MOTE_GATES_F32_H
#define MOTE_GATES_F32_H

#include "mote_math.h"

enum {
    MOTE_GATE_LOGISTIC,
    MOTE_GATE_TANH,
    MOTE_GATE_RELU,
    MOTE_GATE_AFFINE,
    MOTE_GATE_LEAKY_RELU,
    MOTE_GATE_THRESHOLDED_RELU,
    MOTE_GATE_SCALED_TANH,
    MOTE_GATE_HARD_SIGMOID,
    MOTE_GATE_ELU,
    MOTE_GATE_SOFTSIGN,
    MOTE_GATE_SOFTPLUS
};

typedef struct {
    int32_t function; /* MOTE_GATE_... */
    float alpha, beta;
    float clip; /* how far an argument may be from zero */
} mote_gate_f32_t;

typedef void mote_gate_function_f32(const mote_gate_f32_t *g, float *x, int32_t n);

/* The first two, of any argument. */
static inline void mote_usual_gate_f32(const mote_gate_f32_t *g, float *x, int32_t n) {
    for (; n > 0; n--, x++) {
        *x = g->function == MOTE_GATE_LOGISTIC ? mote_logisticf(*x) : mote_tanhf(*x);
    }
}

static inline float mote_gatef(const mote_gate_f32_t *g, float x) {
    const float alpha = g->alpha, beta = g->beta;
    switch (g->function) {
    case MOTE_GATE_LOGISTIC:
        return mote_logisticf(x);
    case MOTE_GATE_TANH:
        return mote_tanhf(x);
    case MOTE_GATE_RELU:
        return x > 0.0f ? x : 0.0f;
    case MOTE_GATE_AFFINE:
        return alpha * x + beta;
    case MOTE_GATE_LEAKY_RELU:
        return x < 0.0f ? alpha * x : x;
    case MOTE_GATE_THRESHOLDED_RELU:
        return x > alpha ? x : 0.0f;
    case MOTE_GATE_SCALED_TANH:
        return alpha * mote_tanhf(beta * x);
    case MOTE_GATE_HARD_SIGMOID:
        return mote_clamp_f32(alpha * x + beta, 0.0f, 1.0f);
    case MOTE_GATE_ELU:
        return x < 0.0f ? alpha * mote_expm1f(x) : x;
    case MOTE_GATE_SOFTSIGN:
        return x / (1.0f + mote_fabsf(x));
    default: /* MOTE_GATE_SOFTPLUS */
        return (x > 0.0f ? x : 0.0f) + mote_logf(1.0f + mote_expf(-mote_fabsf(x)));
    }
}

static inline void mote_any_gate_f32(const mote_gate_f32_t *g, float *x, int32_t n) {
    for (; n > 0; n--, x++) {
        *x = mote_gatef(g, mote_clamp_f32(*x, -g->clip, g->clip));
    }
}

#endif
