/* mote_pow.h: float32 powers: see mote_math.h. */
#ifndef MOTE_POW_H
#define MOTE_POW_H

#include "mote_math.h"

/* The upper half of a product of 128 bits. */
static inline int64_t mote_upper_half(int64_t a, int64_t b) {
    const uint32_t a_low = (uint32_t)a, b_low = (uint32_t)b;
    const int64_t a_high = a >> 32, b_high = b >> 32;
    const int64_t first = a_high * b_low + (int64_t)((uint64_t)a_low * b_low >> 32);
    const int64_t second = a_low * b_high + (uint32_t)first;
    return a_high * b_high + (first >> 32) + (second >> 32);
}

/* A polynomial of x, all with 62 bits behind the point. |x| < 1/2. */
static inline int64_t mote_polynomial(const int64_t *terms, int32_t n, int64_t x) {
    int64_t sum = terms[--n];
    while (n > 0) {
        sum = (int64_t)((uint64_t)terms[--n] + 4 * (uint64_t)mote_upper_half(sum, x));
    }
    return sum;
}

/* The logarithm to the base 2 of a positive number, with `places` bits behind the point: 2^exponent * z, z * c is near 1.
 * Fixed point has more bits than a float, and a power needs them. */
static inline int64_t mote_log2(uint32_t bits, int32_t exponent, int32_t *places) {
    static const uint32_t scale[16] = {
        0x5987b1a9u, 0x55c7b4f1u, 0x5254e78fu, 0x4f265692u, 0x4c346405u, 0x497889c2u, 0x46ed2901u,
        0x448d639du, 0x4254fce4u, 0x40000000u, 0x3cae7592u, 0x3949660bu, 0x36406c81u, 0x3385a29eu,
        0x310dcbe1u, 0x2ecfb9c8u};
    static const int64_t log_scale[16] = {
        -558360070830397101, -487191391087999316, -418943289467995498, -353385478226215806,
        -290313879030688252, -229546786939153878, -170921718078728752, -114292788239744774,
        -59528529024205919, 0, 88562353753321636, 184319101694267161, 274861950489722440,
        360729487160800898, 442380930893115542, 520210994820415446};
    static const int64_t terms[7] = {
        6653256548922161246, -3326628274461080623, 2217752182974053749, -1663314137230540311,
        1330651309784432249, -1108876091487026874, 950465221274594464};
    const uint32_t above = bits - 0x3f330000u, z = bits - (above & 0xff800000u);
    const uint32_t which = above >> 19 & 15, twice = z >> 23 == 127;
    const int64_t significand = (int64_t)((z & 0x7fffffu) | 0x800000u) << twice;
    const int64_t rest = (significand * scale[which] - ((int64_t)1 << 54)) * 256;
    const int64_t log = mote_upper_half(rest, mote_polynomial(terms, 7, rest)) + log_scale[which];
    exponent += (int32_t)above >> 23;
    *places = exponent == 0 ? 60 : 54;
    return exponent == 0 ? log : exponent * ((int64_t)1 << 54) + (log >> 6);
}

/* 2^x for x with 40 bits behind the point, -151 < x < 129. */
static inline float mote_exp2(int64_t x) {
    static const int64_t terms[9] = {
        4611686018427387904, 3196577161300663915, 1107849223398934356, 255967521894832113,
        44355791529079737, 6149018367977265, 710362457495793, 70340819226978, 6094567565682};
    const int64_t n = (x + ((int64_t)1 << 39)) >> 40;
    const int64_t y = mote_polynomial(terms, 9, (int64_t)(((uint64_t)x - ((uint64_t)n << 40)) << 22));
    return mote_times_two_to((float)y * 2.16840434e-19f, (int32_t)n); /* 2^-62 */
}

/* 2 if a number is even, 1 if it is odd, 0 if it is not whole. */
static inline int32_t mote_parity(float x) {
    const float half = 0.5f * mote_fabsf(x);
    return mote_floorf(x) != x ? 0 : mote_floorf(half) == half ? 2 : 1;
}

/* x^y for positive, finite x, and finite y that is not zero. */
static inline float mote_power_of(float x, float y) {
    const int32_t small = mote_bits_of(x) < 0x800000u, tiny = mote_fabsf(y) < 1.17549435e-38f;
    const uint32_t bits = mote_bits_of(tiny ? 1.17549435e-38f : mote_fabsf(y));
    int32_t places, shift;
    int64_t log = mote_log2(small ? mote_bits_of(x * 8388608.0f) : mote_bits_of(x), small ? -23 : 0, &places);
    const int32_t negative = (log < 0) != (y < 0.0f);
    log = log < 0 ? (int64_t)(0 - (uint64_t)log) : log;
    for (; log >= (int64_t)1 << 39; log >>= 1) {
        places--;
    }
    log *= (int64_t)((bits & 0x7fffffu) | 0x800000u);
    shift = (int32_t)(bits >> 23) - 150 - places + 40;
    if (shift >= 0 && log >= ((int64_t)152 << 40) >> (shift < 48 ? shift : 48)) {
        return negative ? 0.0f : MOTE_INFINITY;
    }
    log = shift >= 0 ? (int64_t)((uint64_t)log << shift) : shift > -63 ? log >> -shift : 0;
    log = negative ? (int64_t)(0 - (uint64_t)log) : log;
    if (log >= (int64_t)128 << 40) {
        return MOTE_INFINITY;
    }
    return log < -((int64_t)151 << 40) ? 0.0f : mote_exp2(log);
}

/* x^y, within 1 ulp. */
static inline float mote_powf(float x, float y) {
    const float size = mote_fabsf(x);
    const int32_t parity = mote_parity(y);
    float power;
    if (y == 0.0f || x == 1.0f) {
        return 1.0f;
    }
    if (x != x || y != y) {
        return mote_nanf();
    }
    if (mote_fabsf(y) == MOTE_INFINITY) {
        return size == 1.0f ? 1.0f : (size < 1.0f) == (y < 0.0f) ? MOTE_INFINITY : 0.0f;
    }
    if (x < 0.0f && parity == 0 && size < MOTE_INFINITY) {
        return mote_nanf();
    }
    if (size == 0.0f || size == MOTE_INFINITY) {
        power = (size == 0.0f) == (y < 0.0f) ? MOTE_INFINITY : 0.0f;
    } else {
        power = mote_power_of(size, y);
    }
    return parity == 1 ? mote_signed(power, x) : power;
}

#endif
