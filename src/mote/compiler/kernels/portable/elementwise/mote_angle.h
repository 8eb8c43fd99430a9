/* mote_angle.h: float32 functions of angles: see mote_math.h. */
#ifndef MOTE_ANGLE_H
#define MOTE_ANGLE_H

#include "mote_math.h"

/* x = n * pi / 2 + what it gives, for positive x from pi / 4 on. Its significand is multiplied with as many bits of 2 / pi
 * as matter: whole turns are left out, 62 bits stay behind the point. */
static inline float mote_angle_rest(float x, int32_t *n) {
    static const uint32_t inverse[8] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u,
                                        0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    const uint32_t bits = mote_bits_of(x), significand = (bits & 0x7fffffu) | 0x800000u;
    const int32_t exponent = mote_min((int32_t)(bits >> 23), 254);
    const uint32_t first = exponent > 126 ? (uint32_t)exponent - 120 : 6, shift = first & 31;
    uint32_t part[3];
    uint64_t turns;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t *word = inverse + (first >> 5) + i;
        part[i] = shift == 0 ? word[0] : word[0] << shift | word[1] >> (32 - shift);
    }
    turns = ((uint64_t)(significand * part[0]) << 32) + (uint64_t)significand * part[1] +
            ((uint64_t)significand * part[2] >> 32);
    *n = (int32_t)((turns + ((uint64_t)1 << 61)) >> 62);
    turns -= (uint64_t)*n << 62;
    return (turns >> 63 ? -(float)(0 - turns) : (float)turns) * 3.40612158e-19f; /* pi / 2 / 2^62 */
}

/* The sine of x and as many quarters of a turn. */
static inline float mote_sine(float x, int32_t quarters) {
    const float size = mote_fabsf(x);
    float rest = x, square, y;
    int32_t n = 0;
    if (!(size < MOTE_INFINITY)) {
        return mote_nanf();
    }
    if (size >= 0.785398185f) {
        rest = mote_angle_rest(size, &n);
        rest = x < 0.0f ? -rest : rest;
        n = x < 0.0f ? -n : n;
    }
    n += quarters;
    square = rest * rest;
    if (n & 1) {
        y = ((2.44384137e-05f * square - 0.00138873677f) * square + 0.0416666456f) * square * square;
        y = 1.0f + (y - 0.5f * square);
    } else {
        y = (-0.000195172674f * square + 0.008332178f) * square - 0.166666552f;
        y = size < 2.4e-4f ? rest : rest + rest * square * y;
    }
    return n & 2 ? -y : y;
}

/* Sine and cosine, within 3 ulp. */
static inline float mote_sinf(float x) { return mote_sine(x, 0); }

static inline float mote_cosf(float x) { return mote_sine(x, 1); }

/* The angle of the point (x, y), within 2 ulp. */
static inline float mote_atan2f(float y, float x) {
    const float a = mote_fabsf(x), b = mote_fabsf(y), large = a > b ? a : b, small = a > b ? b : a;
    const int32_t left = mote_bits_of(x) >> 31 != 0;
    float ratio, square, sum = -0.00182721287f;
    if (x != x || y != y) {
        return mote_nanf();
    }
    ratio = large == 0.0f ? 0.0f : small == large ? 1.0f : small / large;
    square = ratio * ratio;
    sum = sum * square + 0.0110644409f;
    sum = sum * square - 0.0314557031f;
    sum = sum * square + 0.0582345538f;
    sum = sum * square - 0.0841945931f;
    sum = sum * square + 0.109575763f;
    sum = sum * square - 0.142652452f;
    sum = sum * square + 0.199986383f;
    sum = sum * square - 0.333333015f;
    sum = ratio + ratio * square * sum;
    if (b > a) {
        sum = 1.57079637f - (sum + 4.37113883e-8f); /* what the float is more than pi / 2 */
    }
    if (left) {
        sum = 3.14159274f - (sum + 8.74227766e-8f);
    }
    return mote_signed(sum, y);
}

#endif
