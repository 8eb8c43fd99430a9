/* mote_window_statistics.h: statistics of each channel of a window of samples, in whole numbers.
 *
 * ops/features/motion.py says what they mean. Moments are those of samples less their mean, in 11 bits behind the point,
 * shifted so that the largest has 12 bits: their ratios need no more, and sums of fourth powers fit 64 bits.
 */
#ifndef MOTE_WINDOW_STATISTICS_H
#define MOTE_WINDOW_STATISTICS_H

#include "mote_window_features.h"

enum {
    MOTE_STATISTIC_MEAN,
    MOTE_STATISTIC_RMS,
    MOTE_STATISTIC_STD,
    MOTE_STATISTIC_MIN,
    MOTE_STATISTIC_MAX,
    MOTE_STATISTIC_PEAK_TO_PEAK,
    MOTE_STATISTIC_SKEW,
    MOTE_STATISTIC_KURTOSIS,
    MOTE_STATISTIC_ZERO_CROSSINGS,
    MOTE_STATISTIC_MEAN_CROSSINGS
};

typedef struct {
    mote_window_t rows;
    int32_t unit, channels, features;
    int32_t twice;          /* whether some are of samples less their mean */
    const uint8_t *feature; /* MOTE_STATISTIC_... in the order of the output */
} mote_window_statistics_t;

/* What is added up of a channel of n samples. */
typedef struct {
    int32_t n, sum, least, most, zero_crossings, mean_crossings;
    int32_t mean, rest; /* sum = mean * n + rest, 0 <= rest < n */
    uint64_t squares;
    uint64_t second, fourth;
    int64_t third;
} mote_moments_t;

static inline void mote_window_sums(const mote_window_statistics_t *p, const int16_t *const *rows, int32_t channel,
                                    mote_moments_t *m) {
    const int32_t channels = p->channels, unit = p->unit;
    int32_t sum = 0, least = INT16_MAX, most = INT16_MIN, crossings = 0, before = rows[0][channel];
    uint64_t squares = 0;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        const int16_t *from = rows[k] + channel;
        for (int32_t i = 0; i < unit; i++, from += channels) {
            const int32_t x = *from;
            sum += x;
            squares += (uint32_t)(x * x);
            least = x < least ? x : least;
            most = x > most ? x : most;
            crossings += (int32_t)((uint32_t)(x ^ before) >> 31);
            before = x;
        }
    }
    m->n = p->rows.taps * unit;
    m->sum = sum;
    m->squares = squares;
    m->least = least;
    m->most = most;
    m->zero_crossings = crossings;
    m->mean_crossings = 0;
    m->second = m->fourth = 0;
    m->third = 0;
    m->mean = sum / m->n;
    m->rest = sum % m->n;
    if (m->rest < 0) {
        m->rest += m->n;
        m->mean--;
    }
}

/* Crossings of the mean, and moments around it. */
static inline void mote_window_moments(const mote_window_statistics_t *p, const int16_t *const *rows, int32_t channel,
                                       mote_moments_t *m) {
    const int32_t channels = p->channels, unit = p->unit, above = m->mean + (m->rest > 0);
    const int32_t nearest = m->mean + (2 * m->rest >= m->n);
    const int32_t around = m->mean * 2048 + (m->rest * 2048 + m->n / 2) / m->n;
    const int32_t farthest = m->most - nearest > nearest - m->least ? m->most - nearest : nearest - m->least;
    int32_t shift = 0, offset, crossings = 0, before = rows[0][channel] - above;
    uint64_t second = 0, fourth = 0;
    int64_t third = 0;
    while (farthest >> shift > 1) {
        shift++;
    }
    offset = ((int32_t)1 << shift >> 1) - around;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        const int16_t *from = rows[k] + channel;
        for (int32_t i = 0; i < unit; i++, from += channels) {
            const int32_t x = *from, side = x - above;
            const int32_t d = (x * 2048 + offset) >> shift, square = d * d;
            crossings += (int32_t)((uint32_t)(side ^ before) >> 31);
            before = side;
            second += (uint32_t)square;
            third += (int64_t)square * d;
            fourth += (uint64_t)(uint32_t)square * (uint32_t)square;
        }
    }
    m->mean_crossings = crossings;
    m->second = second;
    m->third = third;
    m->fourth = fourth;
}

/* The variance in 1/4. */
static inline uint64_t mote_window_variance(const mote_moments_t *m) {
    return (4 * m->second + (uint32_t)m->n / 2) / (uint32_t)m->n;
}

static inline int32_t mote_window_skew(const mote_moments_t *m) {
    const uint64_t variance = mote_window_variance(m), below = variance * mote_integer_root(variance << 10);
    const uint64_t third = (uint64_t)(m->third < 0 ? -m->third : m->third) / (uint32_t)m->n;
    const int32_t skew = below == 0 ? 0 : (int32_t)(((third << 16) + below / 2) / below);
    return m->third < 0 ? -skew : skew;
}

static inline int32_t mote_window_kurtosis(const mote_moments_t *m) {
    const uint64_t variance = mote_window_variance(m), below = variance * variance;
    return below == 0 ? 0 : (int32_t)((((m->fourth / (uint32_t)m->n) << 12) + below / 2) / below) - (3 << 8);
}

static inline int32_t mote_window_statistic(const mote_moments_t *m, uint8_t feature) {
    const uint64_t squares = (uint32_t)m->n * m->squares;
    const uint32_t n = (uint32_t)m->n;
    switch (feature) {
    case MOTE_STATISTIC_MEAN:
        return m->mean + (2 * m->rest >= m->n);
    case MOTE_STATISTIC_RMS:
        return (int32_t)((mote_integer_root(squares) + n / 2) / n);
    case MOTE_STATISTIC_STD:
        return (int32_t)((mote_integer_root(squares - (uint64_t)((int64_t)m->sum * m->sum)) + n / 2) / n);
    case MOTE_STATISTIC_MIN:
        return m->least;
    case MOTE_STATISTIC_MAX:
        return m->most;
    case MOTE_STATISTIC_PEAK_TO_PEAK:
        return (m->most - m->least) >> 1;
    case MOTE_STATISTIC_SKEW:
        return mote_window_skew(m);
    case MOTE_STATISTIC_KURTOSIS:
        return mote_window_kurtosis(m);
    case MOTE_STATISTIC_ZERO_CROSSINGS:
        return m->zero_crossings;
    default:
        return m->mean_crossings;
    }
}

static inline void mote_window_statistics_row(const mote_window_statistics_t *p, const int16_t *const *rows,
                                              int16_t *out) {
    for (int32_t c = 0; c < p->channels; c++) {
        mote_moments_t m;
        mote_window_sums(p, rows, c, &m);
        if (p->twice) {
            mote_window_moments(p, rows, c, &m);
        }
        for (int32_t f = 0; f < p->features; f++) {
            *out++ = (int16_t)mote_saturate_s16(mote_window_statistic(&m, mote_flash_u8(p->feature + f)));
        }
    }
}

MOTE_BY_ROWS(window_statistics, int16_t, int16_t, s16, rows)

#endif
