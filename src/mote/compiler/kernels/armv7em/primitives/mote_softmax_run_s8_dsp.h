/* mote_softmax_run_s8_dsp.h: mote_softmax_run_s8.h, which includes it, with DSP instructions, four inputs at a time. */
#ifndef MOTE_SOFTMAX_RUN_S8_DSP_H
#define MOTE_SOFTMAX_RUN_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !(defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1))
/* What assembly knows the order of. `last` is where the exponential of -1 would lie, which may be outside of the table: its
 * indices are inputs whose bits are turned. */
typedef struct {
    uintptr_t last;
    uint32_t scale, shift, half; /* half of the last place, before the shift */
} mote_softmax_terms_t;

static inline uintptr_t mote_softmax_last(const int32_t *exp, int32_t max) {
    return (uintptr_t)exp + 4 * (uintptr_t)(max + 1);
}

/* The exponentials of four inputs at r0, in r8, r10, r9 and r11. */
#define MOTE_SOFTMAX_LOAD \
    "ldr r11, [r0], #4\n\t" \
    "mvn r11, r11\n\t" \
    "sxtb r8, r11\n\t" \
    "sbfx r10, r11, #8, #8\n\t" \
    "sbfx r9, r11, #16, #8\n\t" \
    "asr r11, r11, #24\n\t" \
    "ldr r8, [r4, r8, lsl #2]\n\t" \
    "ldr r10, [r4, r10, lsl #2]\n\t" \
    "ldr r9, [r4, r9, lsl #2]\n\t" \
    "ldr r11, [r4, r11, lsl #2]\n\t"
#define MOTE_SOFTMAX_ADD(e) \
    "add " e ", " e ", #2048\n\t" \
    "add r3, r3, " e ", lsr #12\n\t"

/* n inputs, a multiple of four: 18 instructions for four. */
__attribute__((naked, noinline, unused)) static uint32_t mote_softmax_sum_fours(const int8_t *x __attribute__((unused)),
                                                                                int32_t n __attribute__((unused)),
                                                                                uintptr_t last __attribute__((unused))) {
    __asm__ volatile("push {r4, r8-r11, lr}\n\t"
                     "mov r4, r2\n\t"
                     "mov r3, #0\n"
                     "1:\n\t" MOTE_SOFTMAX_LOAD MOTE_SOFTMAX_ADD("r8") MOTE_SOFTMAX_ADD("r10") MOTE_SOFTMAX_ADD("r9")
                         MOTE_SOFTMAX_ADD("r11") "subs r1, r1, #4\n\t"
                     "bne 1b\n\t"
                     "mov r0, r3\n\t"
                     "pop {r4, r8-r11, pc}\n\t");
}

static inline uint32_t mote_softmax_sum(const int32_t *exp, int32_t max, const int8_t *x, int32_t n) {
    const int32_t fours = n & ~3;
    uint32_t sum = fours > 0 ? mote_softmax_sum_fours(x, fours, mote_softmax_last(exp, max)) : 0;
    for (n -= fours, x += fours; n > 0; n--) {
        sum += ((uint32_t)exp[(uint8_t)(max - *x++)] + (1u << 11)) >> 12;
    }
    return sum;
}
#define mote_softmax_sum mote_softmax_sum

/* A share, at most 256. Rounding once, by 2^(31 + shift) and 2^30, is what rounding after the product and after the shift
 * comes to. */
#define MOTE_SOFTMAX_SHARE(e) \
    "mov r12, #0x40000000\n\t" \
    "mov lr, r7\n\t" \
    "umlal r12, lr, r5, " e "\n\t" \
    "lsr " e ", lr, r6\n\t"

/* n inputs, a multiple of four: 33 instructions for four. */
__attribute__((naked, noinline, unused)) static void mote_softmax_shares_fours(
    const int8_t *x __attribute__((unused)), int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_softmax_terms_t *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r3, {r4-r7}\n"
                     "1:\n\t" MOTE_SOFTMAX_LOAD MOTE_SOFTMAX_SHARE("r8") MOTE_SOFTMAX_SHARE("r10")
                         MOTE_SOFTMAX_SHARE("r9") MOTE_SOFTMAX_SHARE("r11") "orr r8, r8, r9, lsl #16\n\t"
                     "orr r10, r10, r11, lsl #16\n\t"
                     "usat16 r8, #8, r8\n\t"
                     "usat16 r10, #8, r10\n\t"
                     "orr r8, r8, r10, lsl #8\n\t"
                     "eor r8, r8, #0x80808080\n\t"
                     "str r8, [r1], #4\n\t"
                     "subs r2, r2, #4\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline void mote_softmax_shares(const int32_t *exp, int32_t max, const int8_t *x, int32_t n, int32_t scale,
                                       int32_t shift, int8_t *out) {
    const int32_t fours = n & ~3;
    if (fours > 0) {
        mote_softmax_terms_t terms;
        terms.last = mote_softmax_last(exp, max);
        terms.scale = (uint32_t)scale, terms.shift = (uint32_t)shift, terms.half = (uint32_t)1 << (shift - 1);
        mote_softmax_shares_fours(x, out, fours, &terms);
    }
    for (n -= fours, x += fours, out += fours; n > 0; n--) {
        const int32_t e = exp[(uint8_t)(max - *x++)];
        *out++ = mote_clamp((((mote_high_mul(scale, e) >> shift) + 1) >> 1) - 128, -128, 127);
    }
}
#define mote_softmax_shares mote_softmax_shares
#endif

#endif
