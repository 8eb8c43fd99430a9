/* mote_angles_f32.h: float32 functions of one tensor beside those of mote_functions_f32.h: see mote_math.h. */
#ifndef MOTE_ANGLES_F32_H
#define MOTE_ANGLES_F32_H

#include "mote_functions_f32.h"

/* The tangent, within 7 ulp. */
static inline float mote_tanf(float x) { return mote_sinf(x) / mote_cosf(x); }

/* The other side of a right-angled triangle whose longest side is 1; no number for |x| > 1. */
static inline float mote_other_side(float x) { return mote_sqrtf((1.0f - x) * (1.0f + x)); }

/* The angles with a sine and with a cosine, within 5 ulp. */
static inline float mote_asinf(float x) { return mote_atan2f(x, mote_other_side(x)); }
static inline float mote_acosf(float x) { return mote_atan2f(mote_other_side(x), x); }

/* log(1 + x), within 4 ulp: what rounding the sum loses is made up for. */
static inline float mote_log1pf(float x) {
    const float sum = 1.0f + x;
    if (sum == 1.0f || !(sum < MOTE_INFINITY)) {
        return x;
    }
    return sum > 0.0f ? mote_logf(sum) * (x / (sum - 1.0f)) : mote_logf(sum);
}

/* Half of e^x for x from 9 on, where e^-x does not count: e^x alone may be too large. Within 4 ulp. */
static inline float mote_half_expf(float x) {
    const float root = mote_expf(0.5f * x);
    return 0.5f * root * root;
}

/* The hyperbolic sine and cosine, within 5 ulp. */
static inline float mote_sinhf(float x) {
    const float size = mote_fabsf(x), less = size < 9.0f ? mote_expm1f(size) : 0.0f;
    return x != x ? x : mote_signed(size < 9.0f ? 0.5f * (less + less / (less + 1.0f)) : mote_half_expf(size), x);
}

static inline float mote_coshf(float x) {
    const float size = mote_fabsf(x), power = mote_expf(size);
    return size < 9.0f ? 0.5f * (power + 1.0f / power) : mote_half_expf(size);
}

/* Their inverses and that of the tangent, within 6 ulp. Far from zero the square of a number is all that counts. */
static inline float mote_asinhf(float x) {
    const float size = mote_fabsf(x), square = size * size;
    if (x != x) {
        return x;
    }
    if (size > 4096.0f) {
        return mote_signed(mote_logf(size) + 0.693147182f, x);
    }
    return mote_signed(mote_log1pf(size + square / (1.0f + mote_sqrtf(1.0f + square))), x);
}

static inline float mote_acoshf(float x) {
    const float above = x - 1.0f;
    return x > 4096.0f ? mote_logf(x) + 0.693147182f : mote_log1pf(above + mote_sqrtf(above * (2.0f + above)));
}

static inline float mote_atanhf(float x) {
    const float size = mote_fabsf(x);
    if (!(size < 1.0f)) {
        return size == 1.0f ? mote_signed(MOTE_INFINITY, x) : mote_nanf();
    }
    return mote_signed(0.5f * mote_log1pf(2.0f * size / (1.0f - size)), x);
}

/* The error function, within 6 ulp. */
static inline float mote_erff(float x) {
    const float square = x * x;
    float y;
    if (!(mote_fabsf(x) < 0.5f)) {
        return 1.0f - mote_erfcf(x);
    }
    y = ((0.00471992837f * square - 0.0267581549f) * square + 0.112828381f) * square - 0.376126081f;
    return x * (y * square + 1.12837911f);
}

MOTE_FUNCTION_F32(tan, mote_tanf(x))
MOTE_FUNCTION_F32(asin, mote_asinf(x))
MOTE_FUNCTION_F32(acos, mote_acosf(x))
MOTE_FUNCTION_F32(atan, mote_atan2f(x, 1.0f))
MOTE_FUNCTION_F32(sinh, mote_sinhf(x))
MOTE_FUNCTION_F32(cosh, mote_coshf(x))
MOTE_FUNCTION_F32(asinh, mote_asinhf(x))
MOTE_FUNCTION_F32(acosh, mote_acoshf(x))
MOTE_FUNCTION_F32(atanh, mote_atanhf(x))
MOTE_FUNCTION_F32(log1p, mote_log1pf(x))
MOTE_FUNCTION_F32(erf, mote_erff(x))

#endif
