/* mote_softmax_run_s8_dsp.h: mote_softmax_run_s8.h, which includes it, with DSP instructions, four inputs at a time. */
#ifndef MOTE_SOFTMAX_RUN_S8_DSP_H
#define MOTE_SOFTMAX_RUN_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1))
/* The exponential of an input whose bits are turned: `last` is where that of -1 would lie, which may be
 * outside of the table. */
static inline uint32_t mote_softmax_exp_of(uintptr_t last, int32_t turned) {
    uint32_t e;
    __asm__("ldr %0, [%1, %2, lsl #2]" : "=r"(e) : "r"(last), "r"(turned));
    return e;
}

static inline uintptr_t mote_softmax_last(const int32_t *exp, int32_t max) {
    return (uintptr_t)exp + 4 * (uintptr_t)(max + 1);
}

static inline uint32_t mote_softmax_rounded(uintptr_t last, int32_t turned) {
    return (mote_softmax_exp_of(last, turned) + (1u << 11)) >> 12;
}

/* Byte k of a word, with its sign. */
#define MOTE_SOFTMAX_BYTE(word, k) ((int32_t)((word) << (24 - 8 * (k))) >> 24)

MOTE_HOT static inline uint32_t mote_softmax_sum(const int32_t *exp, int32_t max, const int8_t *x, int32_t n) {
    const uintptr_t last = mote_softmax_last(exp, max);
    uint32_t sum = 0;
    for (; n >= 4; n -= 4, x += 4) {
        const uint32_t four = ~mote_load4(x);
        sum += mote_softmax_rounded(last, MOTE_SOFTMAX_BYTE(four, 0));
        sum += mote_softmax_rounded(last, MOTE_SOFTMAX_BYTE(four, 1));
        sum += mote_softmax_rounded(last, MOTE_SOFTMAX_BYTE(four, 2));
        sum += mote_softmax_rounded(last, MOTE_SOFTMAX_BYTE(four, 3));
    }
    for (; n > 0; n--, x++) {
        sum += mote_softmax_rounded(last, ~*x);
    }
    return sum;
}
#define mote_softmax_sum mote_softmax_sum

/* One share, from 0 to 255. Rounding once is what rounding after the product and after the shift comes to. */
static inline uint32_t mote_softmax_share(uintptr_t last, int32_t turned, uint32_t scale, int32_t shift,
                                          uint64_t half) {
    uint32_t share = (uint32_t)(((uint64_t)scale * mote_softmax_exp_of(last, turned) + half) >> 32) >> shift;
    __asm__("usat %0, #8, %1" : "=r"(share) : "r"(share));
    return share;
}

MOTE_HOT static inline void mote_softmax_shares(const int32_t *exp, int32_t max, const int8_t *x, int32_t n,
                                                int32_t scale, int32_t shift, int8_t *out) {
    const uintptr_t last = mote_softmax_last(exp, max);
    const uint32_t by = (uint32_t)scale;
    const uint64_t half = ((uint64_t)1 << (31 + shift)) + ((uint32_t)1 << 30);
    for (; n >= 4; n -= 4, x += 4, out += 4) {
        const uint32_t four = ~mote_load4(x);
        uint32_t shares = mote_softmax_share(last, MOTE_SOFTMAX_BYTE(four, 0), by, shift, half);
        shares |= mote_softmax_share(last, MOTE_SOFTMAX_BYTE(four, 1), by, shift, half) << 8;
        shares |= mote_softmax_share(last, MOTE_SOFTMAX_BYTE(four, 2), by, shift, half) << 16;
        shares |= mote_softmax_share(last, MOTE_SOFTMAX_BYTE(four, 3), by, shift, half) << 24;
        shares ^= 0x80808080u;
        memcpy(out, &shares, 4);
    }
    for (; n > 0; n--, x++) {
        *out++ = (int8_t)(uint8_t)(mote_softmax_share(last, ~*x, by, shift, half) ^ 0x80u);
    }
}
#define mote_softmax_shares mote_softmax_shares
#endif

#endif
