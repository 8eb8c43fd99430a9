/* mote_pool_s16.h: int16 average and maximum pooling over any window, and to a single row one input row at a time.
 *
 * Padding takes no part: an average divides by the pixels that lie inside the image, and rounds halves away from zero. */
#ifndef MOTE_POOL_S16_H
#define MOTE_POOL_S16_H

#include "mote_pool.h"
#include "mote_running_sums.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    int32_t lo, hi; /* the range of the fused activation */
} mote_pool_s16_t;

typedef mote_pool_s16_t mote_avg_pool_s16_t, mote_avg_pool_add_s16_t;
typedef mote_pool_s16_t mote_max_pool_s16_t, mote_max_pool_add_s16_t;

static inline int16_t mote_pool_clamp_s16(int32_t x, int32_t lo, int32_t hi) {
    return (int16_t)(x < lo ? lo : x > hi ? hi : x);
}

/* The average of n values that add up to `sum`. */
static inline int32_t mote_average_s16(int32_t sum, int32_t n) {
    return (sum > 0 ? sum + n / 2 : sum - n / 2) / (n > 0 ? n : 1);
}

/* Add n pixels of one channel, or find the largest of them and `most`. */
static inline int32_t mote_sum_s16(const int16_t *x, int32_t step, int32_t n, int32_t sum) {
    for (; n > 0; n--, x += step) {
        sum += *x;
    }
    return sum;
}

static inline int32_t mote_max_s16(const int16_t *x, int32_t step, int32_t n, int32_t most) {
    for (; n > 0; n--, x += step) {
        most = *x > most ? *x : most;
    }
    return most;
}

#define MOTE_POOL_S16_ZERO(p) 0
#define MOTE_POOL_S16_LOW(p) (p)->lo
#define MOTE_POOL_S16_MEAN(p, sum, count) mote_pool_clamp_s16(mote_average_s16(sum, count), (p)->lo, (p)->hi)
#define MOTE_POOL_S16_MOST(p, most, count) (int16_t)mote_min(most, (p)->hi)

MOTE_POOL(avg_pool_s16, int16_t, int32_t, s16, MOTE_POOL_S16_ZERO, MOTE_POOL_ADD, MOTE_POOL_S16_MEAN)
MOTE_POOL(max_pool_s16, int16_t, int32_t, s16, MOTE_POOL_S16_LOW, MOTE_POOL_MAX, MOTE_POOL_S16_MOST)

/* Averages are stored byte by byte: they may lie where sums do. */
static inline void mote_avg_pool_add_s16(const mote_pool_s16_t *p, const int16_t *row, int32_t tap, int32_t part,
                                         int32_t *sums, int16_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    const int32_t rows = mote_min(p->rows.taps - p->rows.pad, p->rows.in_rows); /* inside the image */
    (void)tap;
    if (part & MOTE_FIRST) {
        memset(sums, 0, (size_t)(s->out_size * channels) * sizeof *sums);
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        for (int32_t c = 0; c < channels; c++, sums++, out++) {
            *sums = mote_sum_s16(row + (first + lo) * channels + c, channels, n, *sums);
            if (part & MOTE_LAST) {
                const int16_t y = mote_pool_clamp_s16(mote_average_s16(*sums, n * rows), p->lo, p->hi);
                memcpy(out, &y, sizeof y);
            }
        }
    }
}

/* The maxima so far take no more memory than the output. */
static inline void mote_max_pool_add_s16(const mote_pool_s16_t *p, const int16_t *row, int32_t tap, int32_t part,
                                         int16_t *most, int16_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    (void)tap;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        for (int32_t c = 0; c < channels; c++, most++, out++) {
            const int32_t so_far = part & MOTE_FIRST ? p->lo : *most;
            const int32_t now = mote_max_s16(row + (first + lo) * channels + c, channels, n, so_far);
            *most = (int16_t)now;
            if (part & MOTE_LAST) {
                *out = (int16_t)mote_min(now, p->hi);
            }
        }
    }
}

#endif
