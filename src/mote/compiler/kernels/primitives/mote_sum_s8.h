/* mote_sum_s8.h: sums of int8 pixels, channel by channel, and averages, which are made of them. */
#ifndef MOTE_SUM_S8_H
#define MOTE_SUM_S8_H

#include "mote_common.h"

/* Add n pixels, `step` elements apart, to the sum of one channel. */
static inline int32_t mote_sum_1(const int8_t *x, int32_t step, int32_t n, int32_t sum) {
    for (; n > 0; n--, x += step) {
        sum += *x;
    }
    return sum;
}

#define MOTE_HALF_SUMS 256 /* 256 * -128 still fits a half word */

/* How to divide sums of n pixels by n, rounding halves away from zero, without a division each.
 *
 * v = sum + 128 n + n / 2 (one less for negative sums where n is even) is never negative, and v / n - 128,
 * rounded down, is the result. `inverse` is 2^31 / n rounded up by less than 1, so v * inverse / 2^31 exceeds
 * v / n by less than v / 2^31; it rounds down to the same as long as that is below 1 / n, and v <= 255.5 n. */
typedef struct {
    int32_t n, offset, even;
    uint32_t inverse; /* 0: n is too large, divide */
} mote_average_t;

#define MOTE_AVERAGE_MAX 2899 /* the largest n with 255.5 * n * n < 2^31 */

static inline mote_average_t mote_average_of(int32_t n) {
    mote_average_t a;
    a.n = n;
    a.offset = 128 * n + n / 2;
    a.even = (n & 1) - 1;
    a.inverse = n > MOTE_AVERAGE_MAX ? 0u : (0x7fffffffu + (uint32_t)n) / (uint32_t)n;
    return a;
}

/* The average and 128 more, in 0..255. */
static inline uint32_t mote_average_above(int32_t sum, const mote_average_t *a) {
    const uint32_t v = (uint32_t)(sum + a->offset + ((sum >> 31) & a->even));
    return a->inverse != 0 ? (uint32_t)(((uint64_t)(2 * v) * a->inverse) >> 32) : v / (uint32_t)a->n;
}

static inline int32_t mote_average(int32_t sum, const mote_average_t *a) {
    return (int32_t)mote_average_above(sum, a) - 128;
}

#include "mote_sum_s8_dsp.h"
#include "mote_sum_s8_helium.h"

/* Add n pixels, `step` elements apart, to the sums of four neighbouring channels. */
#ifndef mote_sum_4
static inline void mote_sum_4(const int8_t *x, int32_t step, int32_t n, int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    for (; n > 0; n--, x += step) {
        a += x[0];
        b += x[1];
        c += x[2];
        d += x[3];
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#endif

/* Add n pixels that lie side by side to the sums of all their channels. */
static inline void mote_sum_row(const int8_t *x, int32_t n, int32_t channels, int32_t *sum) {
    int32_t c = channels;
#ifdef mote_sum_16 /* the same of sixteen channels */
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
#ifndef mote_sum_4_rows
static inline void mote_sum_4_rows(const int8_t *const *rows, int32_t count, int32_t start, int32_t step, int32_t n,
                                   int32_t *sum) {
    for (int32_t k = 0; k < count; k++) {
        if (rows[k] != NULL) {
            mote_sum_4(rows[k] + start, step, n, sum);
        }
    }
}
#endif

/* Four averages without an activation: none leaves int8. */
#ifndef mote_average_4
static inline void mote_average_4(const int32_t *sum, const mote_average_t *a, int8_t *out) {
    for (int32_t i = 0; i < 4; i++) {
        out[i] = (int8_t)mote_average(sum[i], a);
    }
}
#endif

#endif
