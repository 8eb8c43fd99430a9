/* mote_math.h: float32 functions, so that no math library is linked, and nothing that one drags in: no errno, no state.
 *
 * Plain C99 in single precision. Results are within the stated number of ulp (the distance to the next float) of the true
 * value for every argument, whether the compiler fuses products and sums or not; infinities, what is no number, zeros
 * with a sign and numbers below the least normal one are treated as C says. docs/trust/numerics.md says how that was tried. */
#ifndef MOTE_MATH_H
#define MOTE_MATH_H

#include "mote_common.h"
#include "mote_float.h"

/* A finite number that is not zero, without its sign: significand * 2^(what it gives - 150), 2^23 <= significand < 2^24. */
static inline int32_t mote_parts(float x, uint32_t *significand) {
    const uint32_t bits = mote_bits_of(x) & ~MOTE_SIGN_BIT;
    int32_t exponent = (int32_t)(bits >> 23);
    *significand = exponent == 0 ? bits << 1 : (bits & 0x7fffffu) | 0x800000u;
    for (int32_t i = 0; i < 23 && !(*significand & 0x800000u); i++, exponent--) {
        *significand <<= 1;
    }
    return exponent;
}

/* The next whole number below, above, or the nearest one, halves to the even one: exact. */
static inline float mote_floorf(float x) {
    if (x == x && x > -8388608.0f && x < 8388608.0f) { /* others are whole */
        const float whole = (float)(int32_t)x;
        return whole == x ? x : whole > x ? whole - 1.0f : whole;
    }
    return x;
}

static inline float mote_ceilf(float x) { return -mote_floorf(-x); }

static inline float mote_rintf(float x) {
    const float size = mote_fabsf(x);
    return size < 8388608.0f ? mote_signed((size + 8388608.0f) - 8388608.0f, x) : x; /* floats from 2^23 on are whole */
}

/* The square root, rounded right. */
#ifndef mote_sqrtf
static inline float mote_sqrtf(float x) {
    uint32_t rest, root = 0, twice = 0;
    int32_t exponent;
    if (x == 0.0f || !(x < MOTE_INFINITY)) {
        return x;
    }
    if (x < 0.0f) {
        return mote_nanf();
    }
    exponent = mote_parts(x, &rest);
    rest <<= exponent & 1 ? 1 : 2;
    /* One bit after another: 25 of them, of which the last one rounds. No root lies halfway between two floats. */
    for (uint32_t bit = 0x1000000u; bit != 0; bit >>= 1, rest <<= 1) {
        const uint32_t tried = twice + bit;
        if (tried <= rest) {
            twice = tried + bit;
            rest -= tried;
            root += bit;
        }
    }
    return mote_float(((root + 1) >> 1) + (uint32_t)((exponent + 127) / 2 - 1) * 0x800000u);
}
#endif

/* y * 2^n for y around 1: at most one rounding, where the result is below the least normal number. */
static inline float mote_times_two_to(float y, int32_t n) {
    const int32_t half = n / 2;
    return y * mote_float((127u + (uint32_t)half) << 23) * mote_float((127u + (uint32_t)n - (uint32_t)half) << 23);
}

/* x = n * log(2) + rest; gives exp(rest) - 1. |x| < 110. */
static inline float mote_expm1_rest(float x, int32_t *n) {
    const float shifted = x * 1.44269504f + 12582912.0f; /* rounded: floats of that size are whole, and count by one bit */
    const float whole = shifted - 12582912.0f;
    const float rest = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float sum = 0.000197903501f;
    sum = sum * rest + 0.0013944651f;
    sum = sum * rest + 0.00833349675f;
    sum = sum * rest + 0.0416662954f;
    sum = sum * rest + 0.166666657f;
    sum = sum * rest + 0.5f;
    *n = (int32_t)(mote_bits_of(shifted) - 0x4b400000u);
    return rest * rest * sum + rest;
}

/* y * 2^n where that is a normal number, from -126 to 127: exact. */
static inline float mote_times_power(float y, int32_t n) { return y * mote_float((127u + (uint32_t)n) << 23); }

#ifndef mote_expf
/* e^x, within 1 ulp. Where the result is far from both ends, n is added to the exponent of a number around 1. */
static inline float mote_expf(float x) {
    int32_t n;
    float y;
    if (mote_fabsf(x) < 87.0f) {
        y = mote_expm1_rest(x, &n);
        return mote_float(mote_bits_of(1.0f + y) + ((uint32_t)n << 23));
    }
    if (x != x) {
        return x;
    }
    if (x < -103.972084f || x > 88.7228394f) {
        return x < 0.0f ? 0.0f : MOTE_INFINITY;
    }
    y = mote_expm1_rest(x, &n);
    return mote_times_two_to(1.0f + y, n);
}
#endif

/* The same less 1, for x from -19 to 19 that is not tiny. */
static inline float mote_expm1_near(float x) {
    int32_t n;
    const float y = mote_expm1_rest(x, &n);
    return n == 0 ? y : mote_times_power(y, n) + (mote_times_power(1.0f, n) - 1.0f);
}

/* e^x - 1, within 2 ulp. */
static inline float mote_expm1f(float x) {
    if (x != x || mote_fabsf(x) < 6e-8f) {
        return x;
    }
    if (x < -18.0f || x > 18.0f) {
        return x < 0.0f ? -1.0f : mote_expf(x);
    }
    return mote_expm1_near(x);
}

/* The natural logarithm, within 1 ulp. */
static inline float mote_logf(float x) {
    uint32_t bits = mote_bits_of(x), above;
    float f, sum, exponent = 0.0f;
    if (!(x > 0.0f) || bits == 0x7f800000u) {
        return x == 0.0f ? -MOTE_INFINITY : x < 0.0f ? mote_nanf() : x;
    }
    if (bits < 0x800000u) {
        bits = mote_bits_of(x * 8388608.0f);
        exponent = -23.0f;
    }
    above = bits - 0x3f3504f3u; /* from the root of one half on */
    exponent += (float)((int32_t)above >> 23);
    f = mote_float(bits - (above & 0xff800000u)) - 1.0f;
    sum = 0.06915126f;
    sum = sum * f - 0.117896847f;
    sum = sum * f + 0.118730202f;
    sum = sum * f - 0.123843722f;
    sum = sum * f + 0.142186552f;
    sum = sum * f - 0.166692495f;
    sum = sum * f + 0.200022265f;
    sum = sum * f - 0.249999866f;
    sum = sum * f + 0.333333105f;
    return (f + (f * f * (sum * f - 0.5f) - exponent * 2.12194440e-4f)) + exponent * 0.693359375f;
}

#ifndef mote_tanhf
/* The hyperbolic tangent, within 3 ulp. */
static inline float mote_tanhf(float x) {
    const float size = mote_fabsf(x);
    float y;
    if (!(size < 9.1f) || size < 2.4e-4f) {
        return size >= 9.1f ? mote_signed(1.0f, x) : x;
    }
    y = mote_expm1_near(-2.0f * size);
    return mote_signed(-y / (2.0f + y), x);
}
#endif

#ifndef mote_logisticf
/* 1 / (1 + e^-x), within 3 ulp. The argument of the exponential function is never positive: nothing overflows. */
static inline float mote_logisticf(float x) {
    const float e = mote_expf(x < 0.0f ? x : -x);
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
#endif

#endif
