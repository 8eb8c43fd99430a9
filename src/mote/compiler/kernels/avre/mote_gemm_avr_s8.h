/* mote_gemm_avr_s8.h: a vector of int8 against every channel, with 8x8 bit products of AVR, four channels at a time.
 *
 * Inputs and weights are both read as bytes 128 above their values, so that products have no sign and sums of 24 bits need
 * no extension: with X = x + 128, the sum of x * w is that of X * (w + 128) less 128 times that of X, and a constant. All
 * constants lie in flash. Weights are packed as [block of 4 channels][input][4], the last block padded. */
#ifndef MOTE_GEMM_AVR_S8_H
#define MOTE_GEMM_AVR_S8_H

#include "mote_finish_avr_s8.h"

#define MOTE_GEMM_AVR_PART 256 /* inputs whose products fit a sum of 24 bits */

typedef struct {
    int32_t depth, channels; /* inputs, outputs */
    int32_t lo, hi;          /* the range of the fused activation */
    const uint8_t *weights;  /* 128 above */
    const uint8_t *channel;  /* MOTE_FINISH_AVR bytes each, see mote_finish_avr */
} mote_gemm_avr_s8_t;

/* Sums of up to 256 inputs, less than 2^24, from `start` on: [4]. */
#if defined(__AVR__)
#define MOTE_DOT_AVR_1(sum) \
    "lpm %[w], Z+\n\t" \
    "mul %[x], %[w]\n\t" \
    "add %A[" sum "], r0\n\t" \
    "adc %B[" sum "], r1\n\t" \
    "adc %C[" sum "], %[zero]\n\t"
#endif

/* Products of `n` inputs, 256 where it is 0, with four channels; gives where the weights go on. */
static inline const uint8_t *mote_dot_avr_4(const int8_t *x, const uint8_t *weights, uint8_t n, mote_sum_avr_t start,
                                            mote_sum_avr_t *sum) {
#if defined(__AVR__)
    mote_sum_avr_t a = start, b = start, c = start, d = start;
    uint8_t input, weight;
    __asm__("1:\n\t"
            "ld %[x], X+\n\t"
            "subi %[x], 0x80\n\t" MOTE_DOT_AVR_1("a") MOTE_DOT_AVR_1("b") MOTE_DOT_AVR_1("c") MOTE_DOT_AVR_1("d")
            "dec %[n]\n\t"
            "brne 1b\n\t"
            "clr r1"
            : [a] "+&r"(a), [b] "+&r"(b), [c] "+&r"(c), [d] "+&r"(d), "+&x"(x), "+&z"(weights), [n] "+&r"(n), [x] "=&d"(input),
              [w] "=&r"(weight)
            : [zero] "r"((uint8_t)0)
            : "r0", "memory");
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
    return weights;
#else
    sum[0] = sum[1] = sum[2] = sum[3] = start;
    for (int32_t left = n == 0 ? 256 : n; left > 0; left--, x++, weights += 4) {
        for (int32_t i = 0; i < 4; i++) {
            sum[i] = (sum[i] + (uint32_t)(uint8_t)(*x + 128) * weights[i]) & MOTE_SUM_AVR;
        }
    }
    return weights;
#endif
}

/* Minus 128 times the sum of `n` inputs, 256 where it is 0, each 128 above. */
static inline mote_sum_avr_t mote_start_avr(const int8_t *x, uint8_t n) {
    uint16_t sum = 0;
#if defined(__AVR__)
    uint8_t input;
    __asm__("1:\n\t"
            "ld %[x], X+\n\t"
            "subi %[x], 0x80\n\t"
            "add %A[sum], %[x]\n\t"
            "adc %B[sum], __zero_reg__\n\t"
            "dec %[n]\n\t"
            "brne 1b"
            : [sum] "+&r"(sum), "+&x"(x), [n] "+&r"(n), [x] "=&d"(input)
            :
            : "memory");
#else
    for (int32_t i = 0; i < (n == 0 ? 256 : n); i++) {
        sum = (uint16_t)(sum + (uint8_t)(x[i] + 128));
    }
#endif
    return (mote_sum_avr_t)((0 - ((mote_sum_avr_t)sum << 7)) & MOTE_SUM_AVR);
}

/* Deeper layers: parts of 256 inputs into sums of 32 bits. */
MOTE_NOINLINE void mote_gemm_avr_deep(const mote_gemm_avr_s8_t *g, const int8_t *x, int8_t *out) {
    const uint8_t *w = g->weights, *q = g->channel;
    const uint16_t depth = (uint16_t)g->depth;
    const int8_t lo = (int8_t)g->lo, hi = (int8_t)g->hi;
    for (int16_t c = (int16_t)g->channels; c > 0; c = (int16_t)(c - 4)) {
        int32_t total[4] = {0, 0, 0, 0};
        const int8_t *from = x;
        for (uint16_t left = depth; left > 0;) {
            const uint16_t part = left < MOTE_GEMM_AVR_PART ? left : MOTE_GEMM_AVR_PART;
            mote_sum_avr_t sum[4];
            w = mote_dot_avr_4(from, w, (uint8_t)part, mote_start_avr(from, (uint8_t)part), sum);
            for (uint8_t i = 0; i < 4; i++) {
                total[i] += mote_signed_avr(sum[i]);
            }
            from += part;
            left = (uint16_t)(left - part);
        }
        for (uint8_t i = 0; i < 4 && i < c; i++, q += MOTE_FINISH_AVR) {
            *out++ = mote_finish_avr_deep(total[i], q, lo, hi);
        }
    }
}

MOTE_NOINLINE void mote_gemm_avr(const mote_gemm_avr_s8_t *g, const int8_t *x, int8_t *out) {
    const uint8_t *w = g->weights, *q = g->channel;
    const uint8_t depth = (uint8_t)g->depth;
    const int8_t lo = (int8_t)g->lo, hi = (int8_t)g->hi;
    if (g->depth > MOTE_GEMM_AVR_PART) {
        mote_gemm_avr_deep(g, x, out);
        return;
    }
    const mote_sum_avr_t start = mote_start_avr(x, depth);
    for (int16_t c = (int16_t)g->channels; c > 0; c = (int16_t)(c - 4)) {
        mote_sum_avr_t sum[4];
        w = mote_dot_avr_4(x, w, depth, start, sum);
        mote_finish_avr(sum, q, out, (uint8_t)(c < 4 ? c : 4), lo, hi);
        q += 4 * MOTE_FINISH_AVR;
        out += 4;
    }
}

#endif
