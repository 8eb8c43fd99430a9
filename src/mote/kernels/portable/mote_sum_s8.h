/* mote_sum_s8.h: sums of int8 pixels, channel by channel: what averages are made of. */
#ifndef MOTE_SUM_S8_H
#define MOTE_SUM_S8_H

#include "mote_common.h"
#include "mote_helium_elements.h"

/* Add n pixels, `step` elements apart, to the sum of one channel. */
static inline int32_t mote_sum_1(const int8_t *x, int32_t step, int32_t n, int32_t sum) {
    for (; n > 0; n--, x += step) {
        sum += *x;
    }
    return sum;
}

#define MOTE_HALF_SUMS 256 /* 256 * -128 still fits a half word */

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
#endif

/* Add n pixels, `step` elements apart, to the sums of four neighbouring channels. */
static inline void mote_sum_4(const int8_t *x, int32_t step, int32_t n, int32_t *sum) {
#if MOTE_DSP
    while (n > 0) {
        const int32_t some = mote_min(n, MOTE_HALF_SUMS);
        uint32_t even = 0, odd = 0;
        mote_sum_halves(x, step, some, &even, &odd);
        mote_sum_flush(even, odd, sum);
        n -= some;
        x += some * step;
    }
#else
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    for (; n > 0; n--, x += step) {
        a += x[0];
        b += x[1];
        c += x[2];
        d += x[3];
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
#endif
}

#if MOTE_HELIUM
/* Add n pixels, `step` elements apart, to the sums of sixteen neighbouring channels. */
static inline void mote_sum_16(const int8_t *x, int32_t step, int32_t n, int32_t *sum) {
    for (int32_t some; n > 0; n -= some, x += some * step) {
        some = mote_min(n, MOTE_HALF_SUMS);
        mote_helium_sum(x, step, some, sum);
    }
}
#endif

/* Add n pixels that lie side by side to the sums of all their channels. */
static inline void mote_sum_row(const int8_t *x, int32_t n, int32_t channels, int32_t *sum) {
    int32_t c = channels;
#if MOTE_HELIUM
    for (; c > 15; c -= 16, x += 16, sum += 16) {
        mote_sum_16(x, channels, n, sum);
    }
#endif
    for (; c > 3; c -= 4, x += 4, sum += 4) {
        mote_sum_4(x, channels, n, sum);
    }
    for (; c > 0; c--, x++, sum++) {
        *sum = mote_sum_1(x, channels, n, *sum);
    }
}

/* mote_sum_4 over n pixels of each row, from element `start` on. Rows that are NULL are left out. */
static inline void mote_sum_4_rows(const int8_t *const *rows, int32_t count, int32_t start, int32_t step, int32_t n,
                                   int32_t *sum) {
#if MOTE_DSP
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
#endif
    for (int32_t k = 0; k < count; k++) {
        if (rows[k] != NULL) {
            mote_sum_4(rows[k] + start, step, n, sum);
        }
    }
}

#endif
