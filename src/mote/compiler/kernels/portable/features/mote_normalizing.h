/* mote_normalizing.h: 16-bit values in units of their standard deviation from their mean: running ones, or a window's. */
#ifndef MOTE_NORMALIZING_H
#define MOTE_NORMALIZING_H

#include "mote_filters.h"
#include "mote_inverse_sqrt.h"

/* How a deviation from the mean is scaled: 31-bit multiplier, right shift of the product. */
typedef struct {
    int32_t mult, right;
} mote_deviation_t;

/* The scale for a variance whose root has `bits` fraction bits; deviations have 15 of them, results `fraction`. */
static inline mote_deviation_t mote_deviation(int64_t variance, int32_t bits, int32_t fraction) {
    mote_deviation_t scale;
    int32_t pairs = 0, right;
    /* As few bits off as leave 31, an even number; written out, because shifts of 64 bits by constants are cheap. */
    if (variance >> 14 > INT32_MAX) {
        variance >>= 16;
        pairs += 8;
    }
    if (variance >> 6 > INT32_MAX) {
        variance >>= 8;
        pairs += 4;
    }
    if (variance >> 2 > INT32_MAX) {
        variance >>= 4;
        pairs += 2;
    }
    if (variance > INT32_MAX) {
        variance >>= 2;
        pairs += 1;
    }
    scale.mult = mote_inverse_sqrt((int32_t)variance, &right);
    scale.right = 46 + right + pairs - bits - fraction;
    return scale;
}

static inline int16_t mote_deviate(mote_deviation_t scale, int32_t deviation) {
    const int64_t y = ((int64_t)deviation * scale.mult + (((int64_t)1 << scale.right) >> 1)) >> scale.right;
    return (int16_t)(y < INT16_MIN ? INT16_MIN : y > INT16_MAX ? INT16_MAX : y);
}

/* The square of a deviation with 15 fraction bits, with 6 of them. */
static inline int64_t mote_deviation_square(int32_t deviation) {
    const int32_t d = mote_wrapping_add(deviation, 2048) >> 12;
    return (int64_t)d * d;
}

/* A variance with 22 fraction bits, and a square with 6 of them more. From one in its range on nothing wraps. */
static inline int64_t mote_running_variance(int64_t variance, int64_t square, int32_t shift) {
    const uint64_t less = (uint64_t)square * 65536u - (uint64_t)variance, half = (uint64_t)1 << (shift - 1);
    return (int64_t)((uint64_t)variance + (uint64_t)((int64_t)(less + half) >> shift));
}

typedef struct {
    int32_t lanes; /* values with statistics of their own */
    int32_t shift, fraction, floor, center;
} mote_running_normalize_t;

/* n values of each lane. */
static inline void mote_running_normalize(const mote_running_normalize_t *p, const int16_t *in, int32_t *means,
                                          int64_t *variances, int16_t *out, int32_t n) {
    const int64_t largest = (int64_t)1 << 54, least = ((int64_t)p->floor * p->floor) * ((int32_t)1 << 22);
    for (int32_t c = 0; c < p->lanes; c++) {
        int32_t mean = mote_restored_mean(means[c]);
        int64_t variance = variances[c] < 0 ? 0 : variances[c] > largest ? largest : variances[c];
        const int16_t *x = in + c;
        int16_t *y = out + c;
        for (int32_t i = 0; i < n; i++, x += p->lanes, y += p->lanes) {
            const int32_t sample = *x;
            if (p->center) {
                mean = mote_running_average(mean, sample, p->shift);
            }
            const int32_t deviation = mote_wrapping_less(sample * 32768, p->center ? mean : 0);
            variance = mote_running_variance(variance, mote_deviation_square(deviation), p->shift);
            *y = mote_deviate(mote_deviation(variance < least ? least : variance, 11, p->fraction), deviation);
        }
        means[c] = mean;
        variances[c] = variance;
    }
}

typedef struct {
    int32_t lanes, samples; /* statistics, and values of each */
    int32_t fraction, floor, deviation;
} mote_normalize_window_t;

/* One lane: its mean, its deviation, then its values. */
static inline void mote_normalize_lane(const mote_normalize_window_t *p, const int16_t *in, int16_t *out) {
    const int32_t n = p->samples;
    int64_t sum = 0, squares = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += in[i * p->lanes];
    }
    const int64_t twice = (int64_t)n * 2, above = sum * 65536 + n;
    const int32_t mean = (int32_t)((above - (above < 0 ? twice - 1 : 0)) / twice);
    mote_deviation_t scale = {1, 15 - p->fraction};
    if (p->deviation) {
        const int64_t least = (int64_t)p->floor * p->floor * 64 * n;
        int32_t bits = 3;
        for (int32_t i = 0; i < n; i++) {
            squares += mote_deviation_square(in[i * p->lanes] * (int32_t)32768 - mean);
        }
        for (squares = squares < least ? least : squares; squares < (int64_t)1 << 58; squares *= 4) {
            bits++;
        }
        scale = mote_deviation(squares / n, bits, p->fraction);
    }
    for (int32_t i = 0; i < n; i++) {
        out[i * p->lanes] = mote_deviate(scale, in[i * p->lanes] * (int32_t)32768 - mean);
    }
}

static inline void mote_normalize_window(const mote_normalize_window_t *p, const int16_t *in, int16_t *out) {
    for (int32_t i = 0; i < p->lanes; i++) {
        mote_normalize_lane(p, in + i, out + i);
    }
}

#endif
