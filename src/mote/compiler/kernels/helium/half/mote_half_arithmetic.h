/* mote_half_arithmetic.h: vectors of half precision, for mote_layer_half.h.
 *
 *   mote_half_of       n numbers rounded to half precision
 *   mote_half_sums4    the sums of n products of four windows, `pitch` inputs apart, with the weights of eight channels
 *   mote_half_sums1    of one window
 *   mote_half_finish   eight channels of one window: bias, activation, and float32 in the channels' own order
 */
#ifndef MOTE_HALF_ARITHMETIC_H
#define MOTE_HALF_ARITHMETIC_H

#include "mote_common.h"
#include "mote_half.h"
#include "mote_helium.h"

#if MOTE_HELIUM_FLOAT
/* Conversions are given by their codes, of q0 to itself and to q1 and q2: GNU as 2.40 encodes other registers than it is
 * told. */
#define MOTE_HALF_NARROW ".inst.w 0xee3f0e01\n\t"     /* vcvtb.f16.f32 q0, q0 */
#define MOTE_HALF_WIDEN_LOWER ".inst.w 0xfe3f2e01\n\t" /* vcvtb.f32.f16 q1, q0 */
#define MOTE_HALF_WIDEN_UPPER ".inst.w 0xfe3f5e01\n\t" /* vcvtt.f32.f16 q2, q0 */

MOTE_ALWAYS_INLINE void mote_half_of(const float *x, uint16_t *to, int32_t n) {
    __asm__ volatile(
        "wlstp.32 lr, %[n], 2f\n\t"
        "1:\n\t"
        "vldrw.u32 q0, [%[x]], #16\n\t" MOTE_HALF_NARROW
        "vstrh.32 q0, [%[to]], #8\n\t"
        "letp lr, 1b\n\t"
        "2:\n\t"
        : [x] "+&r"(x), [to] "+&l"(to)
        : [n] "r"(n)
        : "lr", "q0", "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_half_sums4(const uint16_t *x, int32_t pitch, const uint16_t *w, int32_t n,
                                        uint16_t *sums) {
    const uint16_t *x1 = x + pitch, *x2 = x1 + pitch, *x3 = x2 + pitch;
    int32_t a, b, c, d;
    __asm__ volatile(
        "vmov.i32 q0, #0\n\t"
        "vmov.i32 q1, #0\n\t"
        "vmov.i32 q2, #0\n\t"
        "vmov.i32 q3, #0\n\t"
        "lsr %[a], %[n], #1\n\t"
        "wls lr, %[a], 2f\n\t"
        "1:\n\t"
        "ldr %[a], [%[x]], #4\n\t"
        "vldrh.u16 q4, [%[w]], #16\n\t"
        "ldr %[b], [%[x1]], #4\n\t"
        "vfma.f16 q0, q4, %[a]\n\t"
        "ldr %[c], [%[x2]], #4\n\t"
        "vfma.f16 q1, q4, %[b]\n\t"
        "ldr %[d], [%[x3]], #4\n\t"
        "vfma.f16 q2, q4, %[c]\n\t"
        "lsr %[a], %[a], #16\n\t"
        "vfma.f16 q3, q4, %[d]\n\t"
        "vldrh.u16 q5, [%[w]], #16\n\t"
        "lsr %[b], %[b], #16\n\t"
        "vfma.f16 q0, q5, %[a]\n\t"
        "lsr %[c], %[c], #16\n\t"
        "vfma.f16 q1, q5, %[b]\n\t"
        "lsr %[d], %[d], #16\n\t"
        "vfma.f16 q2, q5, %[c]\n\t"
        "vfma.f16 q3, q5, %[d]\n\t"
        "le lr, 1b\n\t"
        "2:\n\t"
        "tst %[n], #1\n\t"
        "beq 3f\n\t"
        "vldrh.u16 q4, [%[w]]\n\t"
        "ldrh %[a], [%[x]]\n\t"
        "ldrh %[b], [%[x1]]\n\t"
        "ldrh %[c], [%[x2]]\n\t"
        "ldrh %[d], [%[x3]]\n\t"
        "vfma.f16 q0, q4, %[a]\n\t"
        "vfma.f16 q1, q4, %[b]\n\t"
        "vfma.f16 q2, q4, %[c]\n\t"
        "vfma.f16 q3, q4, %[d]\n\t"
        "3:\n\t"
        "vstrh.16 q0, [%[sums]]\n\t"
        "vstrh.16 q1, [%[sums], #16]\n\t"
        "vstrh.16 q2, [%[sums], #32]\n\t"
        "vstrh.16 q3, [%[sums], #48]\n\t"
        : [x] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] "+&r"(w), [a] "=&r"(a), [b] "=&r"(b),
          [c] "=&r"(c), [d] "=&r"(d)
        : [n] "r"(n), [sums] "r"(sums)
        : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_half_sums1(const uint16_t *x, const uint16_t *w, int32_t n, uint16_t *sums) {
    int32_t a;
    __asm__ volatile(
        "vmov.i32 q0, #0\n\t"
        "wls lr, %[n], 2f\n\t"
        "1:\n\t"
        "ldrh %[a], [%[x]], #2\n\t"
        "vldrh.u16 q4, [%[w]], #16\n\t"
        "vfma.f16 q0, q4, %[a]\n\t"
        "le lr, 1b\n\t"
        "2:\n\t"
        "vstrh.16 q0, [%[sums]]\n\t"
        : [x] "+&r"(x), [w] "+&r"(w), [a] "=&r"(a)
        : [n] "r"(n), [sums] "r"(sums)
        : "lr", "q0", "q4", "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_half_finish(const uint16_t *sums, const uint16_t *bias, float low, float high, float *out) {
    __asm__ volatile(
        "vdup.32 q0, %[low]\n\t" MOTE_HALF_NARROW
        "vmov.u16 %[low], q0[0]\n\t"
        "vdup.32 q0, %[high]\n\t" MOTE_HALF_NARROW
        "vmov.u16 %[high], q0[0]\n\t"
        "vdup.16 q2, %[low]\n\t"
        "vdup.16 q3, %[high]\n\t"
        "vldrh.u16 q0, [%[sums]]\n\t"
        "vldrh.u16 q1, [%[bias]]\n\t"
        "vadd.f16 q0, q0, q1\n\t"
        "vcmp.f16 gt, q2, q0\n\t"
        "vpsel q0, q2, q0\n\t"
        "vcmp.f16 gt, q0, q3\n\t"
        "vpsel q0, q3, q0\n\t" MOTE_HALF_WIDEN_LOWER MOTE_HALF_WIDEN_UPPER
        "vstrw.32 q1, [%[out]]\n\t"
        "vstrw.32 q2, [%[out], #16]\n\t"
        : [low] "+&r"(low), [high] "+&r"(high)
        : [sums] "r"(sums), [bias] "r"(bias), [out] "r"(out)
        : "q0", "q1", "q2", "q3", "cc", "memory");
}
#else

/* A number of double precision, or one that was rounded to odd, as bits of half precision. */
static inline uint16_t mote_half_round(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = (uint32_t)(bits >> 48) & 0x8000u;
    const int32_t exponent = (int32_t)(bits >> 52 & 0x7ff) - 1023;
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    if (exponent == 1024 && fraction != 0) {
        return 0x7e00;
    }
    if (exponent > 15) {
        return (uint16_t)(sign | 0x7c00u);
    }
    if (exponent < -25) {
        return (uint16_t)sign;
    }
    const int32_t drop = exponent < -14 ? 42 - 14 - exponent : 42;
    const uint64_t whole = fraction | (uint64_t)1 << 52, rest = whole & (((uint64_t)1 << drop) - 1);
    uint32_t kept = (uint32_t)(whole >> drop);
    kept += rest > (uint64_t)1 << (drop - 1) || (rest == (uint64_t)1 << (drop - 1) && (kept & 1));
    return (uint16_t)(sign | (exponent < -14 ? kept : kept + ((uint32_t)(exponent + 14) << 10)));
}

/* Also of what is not finite. */
static inline float mote_half_number(uint16_t half) {
    const uint32_t bits = (uint32_t)(half & 0x8000u) << 16 | 0x7f800000u | (uint32_t)(half & 0x3ffu) << 13;
    float x;
    if ((half & 0x7c00u) != 0x7c00u) {
        return mote_half(half);
    }
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint16_t mote_half_add_product_once(uint16_t sum, uint16_t x, uint16_t w) {
    const double s = (double)mote_half_number(sum), p = (double)mote_half_number(x) * (double)mote_half_number(w);
    double total = p + s;
    const double part = total - p, lost = (p - (total - part)) + (s - part);
    if (lost < 0.0 || lost > 0.0) {
        uint64_t bits;
        memcpy(&bits, &total, sizeof bits);
        if ((bits & 1) == 0) { /* to the odd neighbour on the side of what was lost */
            bits = (lost > 0.0) == (total > 0.0) ? bits + 1 : bits - 1;
            memcpy(&total, &bits, sizeof total);
        }
    }
    return mote_half_round(total);
}

static inline void mote_half_of(const float *x, uint16_t *to, int32_t n) {
    for (; n > 0; n--) {
        *to++ = mote_half_round((double)*x++);
    }
}

static inline void mote_half_sums1(const uint16_t *x, const uint16_t *w, int32_t n, uint16_t *sums) {
    for (int32_t lane = 0; lane < 8; lane++) {
        sums[lane] = 0;
        for (int32_t k = 0; k < n; k++) {
            sums[lane] = mote_half_add_product_once(sums[lane], x[k], w[8 * k + lane]);
        }
    }
}

static inline void mote_half_sums4(const uint16_t *x, int32_t pitch, const uint16_t *w, int32_t n, uint16_t *sums) {
    for (int32_t i = 0; i < 4; i++) {
        mote_half_sums1(x + i * pitch, w, n, sums + 8 * i);
    }
}

static inline void mote_half_finish(const uint16_t *sums, const uint16_t *bias, float low, float high, float *out) {
    const float lo = mote_half_number(mote_half_round((double)low)), hi = mote_half_number(mote_half_round((double)high));
    for (int32_t lane = 0; lane < 8; lane++) {
        const double sum = (double)mote_half_number(sums[lane]) + (double)mote_half_number(bias[lane]);
        const float y = mote_half_number(mote_half_round(sum));
        out[lane / 2 + lane % 2 * 4] = mote_clamp_f32(y, lo, hi);
    }
}
#endif

#endif
