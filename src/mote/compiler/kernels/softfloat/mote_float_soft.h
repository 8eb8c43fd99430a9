/* mote_float_soft.h: mote_float.h on cores without a floating-point unit: exponentials in 32-bit integers.
 *
 * Calls of the compiler's library for each product and sum would take ten times as long. A number is its float's bits; a
 * fraction of k bits, "in 2^-k", is an integer. Products are of 16 bits, or the upper halves of those of 32. */
#ifndef MOTE_FLOAT_SOFT_H
#define MOTE_FLOAT_SOFT_H

#include "mote_compiler.h"

#ifndef MOTE_SOFT_FLOAT
#if (defined(__ARM_ARCH) && !defined(__ARM_FP)) || (defined(__riscv) && !defined(__riscv_flen)) || defined(__AVR__)
#define MOTE_SOFT_FLOAT 1
#else
#define MOTE_SOFT_FLOAT 0 /* 1 makes other compilers do the same, for tests */
#endif
#endif

/* Whether products of 32 bits are made of those of 16. */
#ifndef MOTE_SHORT_PRODUCTS
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__) || defined(__AVR__)
#define MOTE_SHORT_PRODUCTS 1
#else
#define MOTE_SHORT_PRODUCTS 0
#endif
#endif

#if MOTE_SOFT_FLOAT
/* The product of two numbers below 2^16. */
MOTE_ALWAYS_INLINE uint32_t mote_soft_product(uint32_t a, uint32_t b) {
#if defined(__AVR_HAVE_MUL__)
    uint32_t product; /* gcc would call a function for products of 32 bits */
    __asm__("mul %A1, %A2\n\tmovw %A0, r0\n\tmul %B1, %B2\n\tmovw %C0, r0\n\t"
            "mul %A1, %B2\n\tadd %B0, r0\n\tadc %C0, r1\n\tclr r1\n\tadc %D0, r1\n\t"
            "mul %B1, %A2\n\tadd %B0, r0\n\tadc %C0, r1\n\tclr r1\n\tadc %D0, r1"
            : "=&r"(product)
            : "r"((uint16_t)a), "r"((uint16_t)b)
            : "r0");
    return product;
#else
    return a * b;
#endif
}

/* The upper half of a product; of short products, up to 2 less. */
MOTE_ALWAYS_INLINE uint32_t mote_soft_upper(uint32_t a, uint32_t b) {
#if MOTE_SHORT_PRODUCTS
    const uint32_t ah = a >> 16, al = a & 0xffffu, bh = b >> 16, bl = b & 0xffffu;
    return mote_soft_product(ah, bh) + (mote_soft_product(ah, bl) >> 16) + (mote_soft_product(al, bh) >> 16);
#else
    return (uint32_t)((uint64_t)a * b >> 32);
#endif
}

/* e^x = the result * 2^(n - 30), which is from 2^30 to 2^31, where x is given in 2^-37, without the bits that wrap, and in
 * 2^-9: x = N * log(2) / 32 + rest, and the result is from a table for the lower five bits of N times the beginning of the
 * rest's series. */
static inline uint32_t mote_soft_power(uint32_t x, int32_t coarse, int32_t *n) {
    static const uint32_t power[32] MOTE_FLASH = {
        0x80000000u, 0x82cd8699u, 0x85aac368u, 0x88980e81u, 0x8b95c1e4u, 0x8ea4398bu,
        0x91c3d374u, 0x94f4efa9u, 0x9837f052u, 0x9b8d39bau, 0x9ef53261u, 0xa2704303u,
        0xa5fed6aau, 0xa9a15ab5u, 0xad583eeau, 0xb123f582u, 0xb504f334u, 0xb8fbaf47u,
        0xbd08a39fu, 0xc12c4ccau, 0xc5672a11u, 0xc9b9bd86u, 0xce248c15u, 0xd2a81d92u,
        0xd744fccbu, 0xdbfbb798u, 0xe0ccdeecu, 0xe5b906e7u, 0xeac0c6e8u, 0xefe4b99cu,
        0xf5257d15u, 0xfa83b2dbu};
    const uint32_t step = 2977044472u;             /* log(2) / 32 in 2^-37 */
    int32_t steps = (coarse * 23637 - 8192) >> 18; /* N, or one less */
    uint32_t rest = x - (uint32_t)steps * step, high, square, cube;
    if (rest >= step) {
        rest -= step;
        steps++;
    }
    high = (rest + 0x8000u) >> 16;
    square = mote_soft_product(high, high) >> 12;      /* half of it, in 2^-31 */
    cube = mote_soft_product(square >> 5, high) >> 16; /* half of it, in 2^-31 */
    cube = mote_soft_product(cube, 343u) >> 10;        /* a sixth of it, and of the term behind it as much as helps */
    *n = steps >> 5;
    return mote_soft_upper(mote_flash_u32(power + (steps & 31)), 0x80000000u + (rest >> 6) + square + cube);
}

/* The same for the bits of a float, 2^-24 <= |x| < 128. */
static inline uint32_t mote_soft_exp(uint32_t x, int32_t *n) {
    const uint32_t exponent = x >> 23 & 255, significand = (x & 0x7fffffu) | 0x800000u, sign = 0u - (x >> 31);
    const uint32_t size = exponent < 113 ? significand >> (113 - exponent) : significand << (exponent - 113);
    const int32_t coarse = (int32_t)((significand << 8 >> (134 - exponent)) ^ sign) >> 15;
    return mote_soft_power((size ^ sign) - sign, coarse, n);
}

/* e^-x for x in 2^-27. */
MOTE_ALWAYS_INLINE uint32_t mote_soft_less(uint32_t x, int32_t *n) {
    return mote_soft_power(0u - (x << 10), -1 - (int32_t)(x >> 18), n);
}

/* The float significand * 2^(n - 30), 2^30 <= significand <= 2^31, -126 <= n. */
MOTE_ALWAYS_INLINE float mote_soft_float(uint32_t significand, int32_t n) {
    return mote_float(((uint32_t)(n + 126) << 23) + ((significand + 64) >> 7));
}

/* The same for any n. */
static inline float mote_soft_small_float(uint32_t significand, int32_t n) {
    if (n >= -126) {
        return mote_soft_float(significand, n);
    }
    return mote_float(n < -150 ? 0 : ((significand >> 7) + ((uint32_t)1 << (-127 - n))) >> (-126 - n));
}

/* e^x, within 1 ulp. */
static inline float mote_expf(float x) {
    const uint32_t bits = mote_bits_of(x), size = bits & ~MOTE_SIGN_BIT;
    uint32_t significand;
    int32_t n;
    if (size - 0x33800000u > 0x42b17217u - 0x33800000u) { /* beyond 2^-24 and 88.722832 */
        if (size > 0x7f800000u) {
            return x;
        }
        if (size < 0x33800000u) {
            return 1.0f;
        }
        if (bits < MOTE_SIGN_BIT) {
            return mote_float(0x7f800000u);
        }
        if (bits >= 0xc2d00000u) { /* -104 */
            return 0.0f;
        }
    }
    significand = mote_soft_exp(bits, &n);
    return mote_soft_small_float(significand, n);
}
#define mote_expf mote_expf

/* 2^63 / x for x from 2^31 on, or up to 153 less: a parabola that is off by 1%, and Newton's method twice. */
static inline uint32_t mote_soft_inverse(uint32_t x) {
    const uint32_t high = x >> 16;
    uint32_t near = 139015u - (high * (95325u - (mote_soft_product(high, 42367u) >> 16)) >> 15), rest;
    near = mote_soft_product(near, (0u - mote_soft_product(high, near) - near) >> 16) >> 15; /* never more than the inverse */
    rest = 0x80000000u - mote_soft_product(high, near) - (mote_soft_product(x & 0xffffu, near) >> 16);
    return (near << 16) + (mote_soft_product(near, rest >> 4) >> 11);
}

/* 1 / (1 + e^-x), within 2 ulp. */
static inline float mote_logisticf(float x) {
    const uint32_t bits = mote_bits_of(x), size = bits & ~MOTE_SIGN_BIT;
    uint32_t power, share;
    int32_t n;
    if (size - 0x33800000u > 0x418c0000u - 0x33800000u) { /* beyond 2^-24 and 17.5 */
        if (size < 0x33800000u) {
            return 0.5f;
        }
        return bits > MOTE_SIGN_BIT || size > 0x7f800000u ? mote_expf(x) : 1.0f;
    }
    power = mote_soft_exp(bits | MOTE_SIGN_BIT, &n);
    share = mote_soft_inverse(0x80000000u + (power >> (-1 - n)));
    if (bits < MOTE_SIGN_BIT) {
        return mote_soft_float(share >> 1, -1);
    }
    power = mote_soft_upper(power, share);
    return power < 0x40000000u ? mote_soft_float(power << 1, n - 1) : mote_soft_float(power, n);
}
#define mote_logisticf mote_logisticf

/* tanh(x), within 2 ulp: (1 - e) / (1 + e) where e = e^-2|x|, and x times a polynomial of x^2 below 1/8. */
static inline float mote_tanhf(float x) {
    const uint32_t bits = mote_bits_of(x), size = bits & ~MOTE_SIGN_BIT;
    uint32_t y;
    int32_t n;
    if (size - 0x39800000u > 0x41140000u - 0x39800000u) { /* beyond 2^-12 and 9.25 */
        return size < 0x39800000u || size > 0x7f800000u ? x : mote_signed(1.0f, x);
    }
    if (size < 0x3e000000u) {
        const uint32_t significand = bits << 8 | 0x80000000u, root = significand >> (124 - (size >> 23)); /* in 2^-34 */
        const uint32_t square = mote_soft_upper(root, root) << 2, high = square >> 16;                   /* in 2^-38 */
        const uint32_t fifth = 34953u - (mote_soft_product(high, 221u) >> 16); /* in 2^-18 */
        const uint32_t third = 1431655765u - (mote_soft_product(high, fifth) >> 8); /* in 2^-32 */
        y = mote_soft_upper(significand, 0u - (mote_soft_upper(square, third) >> 6));
        n = (int32_t)(size >> 23) - 127;
    } else {
        uint32_t power = mote_soft_exp((size + 0x800000u) | MOTE_SIGN_BIT, &n);
        power >>= -1 - n;
        y = mote_soft_upper((0x80000000u - power) << 1, mote_soft_inverse(0x80000000u + power));
        n = -1;
    }
    for (; y < 0x80000000u; n--) {
        y <<= 1;
    }
    return mote_signed(mote_soft_float(y >> 1, n), x);
}
#define mote_tanhf mote_tanhf

/* The bits of x, 2^-23 <= |x| < 5.6, times another number: share / 2^32 for x > 0, else power * 2^(n - 30). */
static inline float mote_soft_weighted(uint32_t x, uint32_t share, uint32_t power, int32_t n) {
    uint32_t y = mote_soft_upper(x << 8 | 0x80000000u, x < MOTE_SIGN_BIT ? share : power);
    n = (int32_t)(x >> 23 & 255) - 127 + (x < MOTE_SIGN_BIT ? 0 : n + 2);
    for (; y < 0x80000000u; n--) {
        y <<= 1;
    }
    return mote_signed(mote_soft_float(y >> 1, n), mote_float(x));
}

/* What the functions below give beyond these limits: the identity, zero, or half of x. */
MOTE_ALWAYS_INLINE float mote_soft_gate(uint32_t x) {
    const uint32_t size = x & ~MOTE_SIGN_BIT;
    if (size < 0x34000000u) {
        return mote_float(x) * 0.5f;
    }
    return x < MOTE_SIGN_BIT || size > 0x7f800000u ? mote_float(x) : -0.0f;
}

/* x times the probability that a normally distributed number is below it, which is e^-P(|x|) for x < 0. P is a polynomial
 * of degree 7. */
static inline float mote_geluf(float x) {
    const uint32_t bits = mote_bits_of(x), size = bits & ~MOTE_SIGN_BIT;
    uint32_t a, high, sum, power;
    int32_t n;
    if (size - 0x34000000u > 0x40b33333u - 0x34000000u) {
        return mote_soft_gate(bits);
    }
    a = (bits << 8 | 0x80000000u) >> (129 - (size >> 23)); /* |x| in 2^-29; P's coefficients are those of |x| / 8 in 2^-30 */
    high = a >> 16;
    sum = 1407114050u - mote_soft_product(high, 26372u);
    sum = 1240675520u + mote_soft_product(high, sum >> 16);
    sum = 2805804649u - mote_soft_product(high, sum >> 16);
    sum = 2508653268u - mote_soft_upper(a, sum);
    sum = 2733905222u + mote_soft_upper(a, sum);
    sum = 856725555u + mote_soft_upper(a, sum);
    power = mote_soft_less(93032640u + mote_soft_upper(a, sum), &n);
    return mote_soft_weighted(bits, 0u - (power << 1 >> (-1 - n)), power, n);
}
#define mote_geluf mote_geluf

/* x times the logistic function of a polynomial of x. */
static inline float mote_gelu_tanhf(float x) {
    const uint32_t bits = mote_bits_of(x), size = bits & ~MOTE_SIGN_BIT;
    uint32_t a, square, power, share;
    int32_t n;
    if (size - 0x34000000u > 0x40b33333u - 0x34000000u) {
        return mote_soft_gate(bits);
    }
    a = (bits << 8 | 0x80000000u) >> (129 - (size >> 23)); /* |x| in 2^-29 */
    square = mote_soft_upper(a, a);                        /* in 2^-26 */
    power = mote_soft_less(mote_soft_upper(a, 856722024u + mote_soft_upper(square, 2451732700u)) << 1, &n);
    share = mote_soft_inverse(0x80000000u + (power >> (-1 - n)));
    return mote_soft_weighted(bits, share, mote_soft_upper(power, share), n);
}
#define mote_gelu_tanhf mote_gelu_tanhf

/* y = e^((x - max) * beta) of all numbers divided by their sum; NaN if that is what one of them is. 0 < beta. */
static inline void mote_softmax_of(const float *x, float *y, int32_t n, float beta) {
    uint64_t sum = 0; /* in 2^-31 */
    uint32_t any = 0, share;
    int32_t most = INT32_MIN, shift = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t bits = (int32_t)mote_bits_of(x[i]), order = bits ^ (bits >> 31 & INT32_MAX);
        most = order > most ? order : most;
    }
    const float max = mote_float((uint32_t)(most ^ (most >> 31 & INT32_MAX)));
    const int32_t one = mote_bits_of(beta) == 0x3f800000u;
    for (int32_t i = 0; i < n; i++) {
        const float power = mote_expf(one ? x[i] - max : (x[i] - max) * beta);
        const uint32_t bits = mote_bits_of(power), less = 127 - (bits >> 23);
        y[i] = power;
        any |= bits;
        sum += less < 32 ? (bits << 8 | 0x80000000u) >> less : 0;
    }
    for (; sum >> 32; sum >>= 1) {
        shift++;
    }
    share = mote_soft_inverse((uint32_t)sum);
    for (int32_t i = 0; i < n; i++) {
        const uint32_t bits = mote_bits_of(y[i]), exponent = bits >> 23;
        const uint32_t upper = mote_soft_upper(bits << 8 | 0x80000000u, share);
        const int32_t power = (int32_t)exponent - 127 - shift;
        if (any >> 30) {
            y[i] = mote_nanf();
        } else if (exponent == 0) {
            y[i] = mote_float(mote_soft_upper(bits << 8, share) >> (shift + 8));
        } else {
            y[i] = upper < 0x80000000u ? mote_soft_small_float(upper, power - 1) : mote_soft_small_float(upper >> 1, power);
        }
    }
}
#define mote_softmax_of mote_softmax_of

#endif

#endif
