/* mote_plain_dot_s8_dsp.h: mote_plain_dot_s8.h, which includes it, with DSP instructions.
 *
 * Of each four inputs come first 0 and 2 of both pixels, then 1 and 3, as SXTB16 splits a word of weights. */
#ifndef MOTE_PLAIN_DOT_S8_DSP_H
#define MOTE_PLAIN_DOT_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline void mote_plain_inputs(const int8_t *from, int32_t depth, int32_t zero, int16_t *to) {
    uint32_t zeros = ((uint32_t)zero & 0xffff) * 0x10001u, *words = (uint32_t *)(void *)to;
    int32_t k = depth;
    for (; k >= 4; k -= 4, from += 4, words += 4) {
        const uint32_t x = mote_load4(from);
        uint32_t even, odd;
        __asm__("ssub16 %0, %1, %2" : "=r"(even) : "r"(mote_sxtb16(x)), "r"(zeros));
        __asm__("ssub16 %0, %1, %2" : "=r"(odd) : "r"(mote_sxtb16_ror8(x)), "r"(zeros));
        words[0] = even;
        words[2] = odd;
    }
    if (k > 0) {
        const int32_t b = k > 1 ? from[1] - zero : 0, c = k > 2 ? from[2] - zero : 0;
        words[0] = ((uint32_t)(from[0] - zero) & 0xffff) | (uint32_t)c << 16;
        words[2] = (uint32_t)b & 0xffff;
    }
}
/* The second pixel's begin a word behind the first one's. */
#define mote_plain_inputs mote_plain_inputs
#define MOTE_PLAIN_SECOND 2

/* Four steps of four products of each sum. 18 instructions a step, 20 cycles of a Cortex-M4. */
#define MOTE_PLAIN_STEP \
    "ldr r8, [%[w0]], #4\n\t" \
    "ldr r9, [%[w1]], #4\n\t" \
    "ldrd r12, lr, [%[x]], #8\n\t" \
    "sxtb16 r10, r8\n\t" \
    "sxtb16 r11, r9\n\t" \
    "smlad %[a], r12, r10, %[a]\n\t" \
    "smlad %[b], r12, r11, %[b]\n\t" \
    "smlad %[c], lr, r10, %[c]\n\t" \
    "smlad %[d], lr, r11, %[d]\n\t" \
    "ldrd r12, lr, [%[x]], #8\n\t" \
    "sxtb16 r8, r8, ror #8\n\t" \
    "sxtb16 r9, r9, ror #8\n\t" \
    "smlad %[a], r12, r8, %[a]\n\t" \
    "smlad %[b], r12, r9, %[b]\n\t" \
    "smlad %[c], lr, r8, %[c]\n\t" \
    "smlad %[d], lr, r9, %[d]\n\t"

MOTE_NOINLINE void mote_plain_dot_2x2(const int16_t *x, const int8_t *w0, const int8_t *w1, int32_t depth,
                                      int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    const int32_t sixteens = depth / 16;
    int32_t fours = depth / 4 - 4 * sixteens;
    if (sixteens > 0) {
        const int16_t *const end = x + 32 * sixteens;
        __asm__ volatile("1:\n\t" MOTE_PLAIN_STEP MOTE_PLAIN_STEP MOTE_PLAIN_STEP MOTE_PLAIN_STEP
                         "cmp %[x], %[end]\n\t"
                         "bne 1b\n\t"
                         : [x] "+r"(x), [w0] "+r"(w0), [w1] "+r"(w1), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)
                         : [end] "r"(end)
                         : "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
    }
    for (; fours > 0; fours--) {
        __asm__ volatile(MOTE_PLAIN_STEP
                         : [x] "+r"(x), [w0] "+r"(w0), [w1] "+r"(w1), [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d)
                         :
                         : "r8", "r9", "r10", "r11", "r12", "lr", "memory");
    }
    for (int32_t i = 0; i < depth % 4; i++) {
        const int32_t at = i % 2 * 4 + i / 2;
        a = MOTE_PLUS(a, x[at] * w0[i]);
        b = MOTE_PLUS(b, x[at] * w1[i]);
        c = MOTE_PLUS(c, x[at + 2] * w0[i]);
        d = MOTE_PLUS(d, x[at + 2] * w1[i]);
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#define mote_plain_dot_2x2 mote_plain_dot_2x2
#endif

#endif
