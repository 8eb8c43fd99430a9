/* mote_sum_s8_dsp.h: mote_sum_s8.h, which includes it, with DSP instructions. */
#ifndef MOTE_SUM_S8_DSP_H
#define MOTE_SUM_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline void mote_sum_word(uint32_t word, uint32_t *even, uint32_t *odd) {
    __asm__("sxtab16 %0, %0, %1" : "+r"(*even) : "r"(word));
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(*odd) : "r"(word));
}

/* Add at most MOTE_HALF_SUMS pixels of four neighbouring channels in half words: 0 and 2, 1 and 3. */
static inline void mote_sum_halves(const int8_t *x, int32_t step, int32_t n, uint32_t *even, uint32_t *odd) {
    for (; n >= 4; n -= 4, x += 4 * step) { /* 15 instructions */
        const uint32_t a = mote_load4(x), b = mote_load4(x + step);
        const uint32_t c = mote_load4(x + 2 * step), d = mote_load4(x + 3 * step);
        mote_sum_word(a, even, odd);
        mote_sum_word(b, even, odd);
        mote_sum_word(c, even, odd);
        mote_sum_word(d, even, odd);
    }
    for (; n > 0; n--, x += step) {
        mote_sum_word(mote_load4(x), even, odd);
    }
}

static inline void mote_sum_flush(uint32_t even, uint32_t odd, int32_t *sum) {
    sum[0] += (int16_t)even;
    sum[1] += (int16_t)odd;
    sum[2] += (int32_t)even >> 16;
    sum[3] += (int32_t)odd >> 16;
}

static inline void mote_sum_4(const int8_t *x, int32_t step, int32_t n, int32_t *sum) {
    while (n > 0) {
        const int32_t some = mote_min(n, MOTE_HALF_SUMS);
        uint32_t even = 0, odd = 0;
        mote_sum_halves(x, step, some, &even, &odd);
        mote_sum_flush(even, odd, sum);
        n -= some;
        x += some * step;
    }
}
#define mote_sum_4 mote_sum_4

static inline void mote_sum_4_rows(const int8_t *const *rows, int32_t count, int32_t start, int32_t step, int32_t n,
                                   int32_t *sum) {
    if (n * count <= MOTE_HALF_SUMS) { /* all rows fit the half words */
        uint32_t even = 0, odd = 0;
        for (int32_t k = 0; k < count; k++) {
            if (rows[k] != NULL) {
                mote_sum_halves(rows[k] + start, step, n, &even, &odd);
            }
        }
        mote_sum_flush(even, odd, sum);
        return;
    }
    for (int32_t k = 0; k < count; k++) {
        if (rows[k] != NULL) {
            mote_sum_4(rows[k] + start, step, n, sum);
        }
    }
}
#define mote_sum_4_rows mote_sum_4_rows

static inline void mote_average_4(const int32_t *sum, const mote_average_t *a, int8_t *out) {
    const uint32_t low = mote_average_above(sum[0], a) | mote_average_above(sum[1], a) << 8;
    const uint32_t high = mote_average_above(sum[2], a) | mote_average_above(sum[3], a) << 8;
    const uint32_t four = (low | high << 16) ^ 0x80808080u;
    memcpy(out, &four, 4);
}
#define mote_average_4 mote_average_4
#endif

#endif
