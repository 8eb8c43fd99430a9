/* mote_functions_f32.h: float32 functions of one tensor. */
#ifndef MOTE_FUNCTIONS_F32_H
#define MOTE_FUNCTIONS_F32_H

#include "mote_angle.h"
#include "mote_erfc.h"
#include "mote_runs_f32.h"

/* x times the probability that a normally distributed number is below it, and nearly that. */
#ifndef mote_geluf
static inline float mote_geluf(float x) { return 0.5f * x * mote_erfcf(-0.70710678f * x); }
#endif

#ifndef mote_gelu_tanhf
static inline float mote_gelu_tanhf(float x) {
    return 0.5f * x * (1.0f + mote_tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}
#endif

#define MOTE_NO_RUN_F32(in, out, n) 0

/* The function whose result for x is an expression, or that `run` computes. It has no parameters, but C has no empty
 * structs. */
#define MOTE_FUNCTION_F32(name, result) MOTE_RUNS_OF_F32(name, MOTE_NO_RUN_F32, result)
#define MOTE_RUNS_OF_F32(name, run, result) \
    typedef struct { \
        int32_t unused; \
    } mote_##name##_f32_t; \
    static inline void mote_##name##_f32(const mote_##name##_f32_t *p, const float *in, float *out, int32_t n) { \
        (void)p; \
        if (run(in, out, n)) { \
            return; \
        } \
        for (; n > 0; n--) { \
            const float x = *in++; \
            *out++ = (result); \
        } \
    }

MOTE_FUNCTION_F32(abs, mote_fabsf(x))
MOTE_FUNCTION_F32(neg, -x)
MOTE_FUNCTION_F32(square, x *x)
MOTE_FUNCTION_F32(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f)
MOTE_RUNS_OF_F32(exp, mote_exp_run_f32, mote_expf(x))
MOTE_FUNCTION_F32(log, mote_logf(x))
MOTE_FUNCTION_F32(sqrt, mote_sqrtf(x))
MOTE_FUNCTION_F32(rsqrt, 1.0f / mote_sqrtf(x))
MOTE_FUNCTION_F32(sin, mote_sinf(x))
MOTE_FUNCTION_F32(cos, mote_cosf(x))
MOTE_FUNCTION_F32(ceil, mote_ceilf(x))
MOTE_FUNCTION_F32(floor, mote_floorf(x))
MOTE_FUNCTION_F32(round, mote_rintf(x))
MOTE_FUNCTION_F32(elu, x < 0.0f ? mote_expm1f(x) : x)
MOTE_RUNS_OF_F32(gelu, mote_gelu_run_f32, mote_geluf(x))
MOTE_RUNS_OF_F32(gelu_tanh, mote_gelu_tanh_run_f32, mote_gelu_tanhf(x))

#endif
