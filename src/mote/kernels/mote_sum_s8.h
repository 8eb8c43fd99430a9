/* mote_sum_s8.h: sums of int8 pixels, channel by channel: what averages are made of. */
#ifndef MOTE_SUM_S8_H
#define MOTE_SUM_S8_H

#include "mote_common.h"

/* Add n pixels, `step` elements apart, to the sum of one channel. */
static inline int32_t mote_sum_1(const int8_t *x, int32_t step, int32_t n, int32_t sum) {
    for (int32_t i = 0; i < n; i++) {
        sum += x[i * step];
    }
    return sum;
}

/* The same for four neighbouring channels. */
static inline void mote_sum_4(const int8_t *x, int32_t step, int32_t n, int32_t *sum) {
#if MOTE_DSP
    while (n > 0) {
        int32_t chunk = mote_min(n, 256); /* 256 * -128 still fits a half word */
        uint32_t even = 0, odd = 0;
        for (n -= chunk; chunk > 0; chunk--, x += step) {
            uint32_t word;
            memcpy(&word, x, 4);
            __asm__("sxtab16 %0, %0, %1" : "+r"(even) : "r"(word));
            __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(odd) : "r"(word));
        }
        sum[0] += (int16_t)even;
        sum[1] += (int16_t)odd;
        sum[2] += (int32_t)even >> 16;
        sum[3] += (int32_t)odd >> 16;
    }
#else
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    for (int32_t i = 0; i < n; i++) {
        const int8_t *pixel = x + i * step;
        a += pixel[0];
        b += pixel[1];
        c += pixel[2];
        d += pixel[3];
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
#endif
}

#endif
