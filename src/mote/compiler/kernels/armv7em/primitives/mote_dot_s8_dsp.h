/* mote_dot_s8_dsp.h: mote_dot_s8.h, which includes it, with DSP instructions.
 *
 * SXTB16 splits a word of four bytes into (0, 2) and (1, 3), the same for inputs and weights, so that SMLAD multiplies
 * matching pairs: 20 instructions for 16 products. */
#ifndef MOTE_DOT_S8_DSP_H
#define MOTE_DOT_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline void mote_dot_2x2(const int8_t *x0, const int8_t *x1, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a0 = sum[0], a1 = sum[1], b0 = sum[2], b1 = sum[3];
    int32_t k = depth;
    for (; k >= 4; k -= 4, x0 += 4, x1 += 4, w += 8) {
        uint32_t x = mote_load4(x0), y = mote_load4(x1), v = mote_load4(w);
        uint32_t xe = mote_sxtb16(x), xo = mote_sxtb16_ror8(x);
        uint32_t ye = mote_sxtb16(y), yo = mote_sxtb16_ror8(y);
        uint32_t ve = mote_sxtb16(v), vo = mote_sxtb16_ror8(v);
        a0 = mote_smlad(xo, vo, mote_smlad(xe, ve, a0));
        b0 = mote_smlad(yo, vo, mote_smlad(ye, ve, b0));
        v = mote_load4(w + 4);
        ve = mote_sxtb16(v);
        vo = mote_sxtb16_ror8(v);
        a1 = mote_smlad(xo, vo, mote_smlad(xe, ve, a1));
        b1 = mote_smlad(yo, vo, mote_smlad(ye, ve, b1));
    }
    for (int32_t i = 0; i < k; i++) {
        MOTE_MAC_2X2(i);
    }
    sum[0] = a0, sum[1] = a1, sum[2] = b0, sum[3] = b1;
}
#define mote_dot_2x2 mote_dot_2x2

static inline void mote_dot_1x2(const int8_t *x0, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a0 = sum[0], a1 = sum[1];
    int32_t k = depth;
    for (; k >= 4; k -= 4, x0 += 4, w += 8) {
        uint32_t x = mote_load4(x0), v = mote_load4(w), u = mote_load4(w + 4);
        uint32_t xe = mote_sxtb16(x), xo = mote_sxtb16_ror8(x);
        a0 = mote_smlad(xo, mote_sxtb16_ror8(v), mote_smlad(xe, mote_sxtb16(v), a0));
        a1 = mote_smlad(xo, mote_sxtb16_ror8(u), mote_smlad(xe, mote_sxtb16(u), a1));
    }
    for (int32_t i = 0; i < k; i++) {
        a0 = MOTE_PLUS(a0, x0[i] * w[i]);
        a1 = MOTE_PLUS(a1, x0[i] * w[i + 4]);
    }
    sum[0] = a0, sum[1] = a1;
}
#define mote_dot_1x2 mote_dot_1x2

static inline void mote_dot_1x4(const int8_t *x, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    int32_t k = depth;
    for (; k >= 4; k -= 4, x += 4, w += 16) {
        uint32_t v = mote_load4(x), u;
        uint32_t xe = mote_sxtb16(v), xo = mote_sxtb16_ror8(v);
        u = mote_load4(w);
        a = mote_smlad(xo, mote_sxtb16_ror8(u), mote_smlad(xe, mote_sxtb16(u), a));
        u = mote_load4(w + 4);
        b = mote_smlad(xo, mote_sxtb16_ror8(u), mote_smlad(xe, mote_sxtb16(u), b));
        u = mote_load4(w + 8);
        c = mote_smlad(xo, mote_sxtb16_ror8(u), mote_smlad(xe, mote_sxtb16(u), c));
        u = mote_load4(w + 12);
        d = mote_smlad(xo, mote_sxtb16_ror8(u), mote_smlad(xe, mote_sxtb16(u), d));
    }
    for (int32_t i = 0; i < k; i++) {
        MOTE_MAC_1X4(i);
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#define mote_dot_1x4 mote_dot_1x4

static inline int32_t mote_dot_1x1(const int8_t *x, const int8_t *w, int32_t depth, int32_t sum) {
    int32_t k = depth;
    for (; k >= 8; k -= 8, x += 8, w += 8) {
        const uint32_t x0 = mote_load4(x), w0 = mote_load4(w), x1 = mote_load4(x + 4), w1 = mote_load4(w + 4);
        sum = mote_smlad(mote_sxtb16(x0), mote_sxtb16(w0), sum);
        sum = mote_smlad(mote_sxtb16_ror8(x0), mote_sxtb16_ror8(w0), sum);
        sum = mote_smlad(mote_sxtb16(x1), mote_sxtb16(w1), sum);
        sum = mote_smlad(mote_sxtb16_ror8(x1), mote_sxtb16_ror8(w1), sum);
    }
    for (int32_t i = 0; i < k; i++) {
        sum = MOTE_PLUS(sum, x[i] * w[i]);
    }
    return sum;
}
#define mote_dot_1x1 mote_dot_1x1

static inline int32_t mote_dot_less_zero(const int8_t *x, const int8_t *w, int32_t n, int32_t zero, int32_t sum) {
    const uint32_t minus_zero = (uint32_t)(-zero & 0xffff) * 0x10001u;
    for (; n >= 4; n -= 4, x += 4, w += 4) {
        const uint32_t xs = mote_load4(x), ws = mote_load4(w);
        uint32_t even, odd;
        __asm__("sxtab16 %0, %1, %2" : "=r"(even) : "r"(minus_zero), "r"(xs));
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(odd) : "r"(minus_zero), "r"(xs));
        sum = mote_smlad(even, mote_sxtb16(ws), sum);
        sum = mote_smlad(odd, mote_sxtb16_ror8(ws), sum);
    }
    for (; n > 0; n--) {
        sum = MOTE_PLUS(sum, (*x++ - zero) * *w++);
    }
    return sum;
}
#define mote_dot_less_zero mote_dot_less_zero

/* Four products of one channel: inputs in r9 and r8, the weights at `w`. */
#define MOTE_MAC_1X1(sum, w) \
    "ldr r10, [" w "], #4\n\t" \
    "sxtb16 r11, r10\n\t" \
    "sxtb16 r10, r10, ror #8\n\t" \
    "smlad " sum ", r9, r11, " sum "\n\t" \
    "smlad " sum ", r8, r10, " sum "\n\t"

/* One pixel, two pairs of channels whose weights are w and v; `end` is where x ends, a multiple of four inputs on. In
 * assembly, because compilers run out of registers: 25 instructions for 16 products. */
__attribute__((naked, noinline, unused)) static void mote_dot_1x2x2_words(
    const int8_t *x __attribute__((unused)), const int8_t *w __attribute__((unused)),
    const int8_t *v __attribute__((unused)), const int8_t *end __attribute__((unused)),
    int32_t *sum __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr r12, [sp, #36]\n\t"
                     "ldm r12, {r4-r7}\n"
                     "1:\n\t"
                     "ldr r8, [r0], #4\n\t"
                     "sxtb16 r9, r8\n\t"
                     "sxtb16 r8, r8, ror #8\n\t" MOTE_MAC_1X1("r4", "r1") MOTE_MAC_1X1("r5", "r1")
                         MOTE_MAC_1X1("r6", "r2") MOTE_MAC_1X1("r7", "r2")
                     "cmp r0, r3\n\t"
                     "bne 1b\n\t"
                     "stm r12, {r4-r7}\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline void mote_dot_1x2x2(const int8_t *x, const int8_t *w, const int8_t *v, int32_t depth, int32_t *sum) {
    const int32_t words = depth & ~3;
    if (words > 0) {
        mote_dot_1x2x2_words(x, w, v, x + words, sum);
    }
    for (int32_t i = words; i < depth; i++) {
        const int32_t at = words + i; /* weights lie in twice four */
        sum[0] = MOTE_PLUS(sum[0], x[i] * w[at]);
        sum[1] = MOTE_PLUS(sum[1], x[i] * w[at + 4]);
        sum[2] = MOTE_PLUS(sum[2], x[i] * v[at]);
        sum[3] = MOTE_PLUS(sum[3], x[i] * v[at + 4]);
    }
}
#define mote_dot_1x2x2 mote_dot_1x2x2
#endif

#endif
