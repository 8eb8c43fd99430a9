/* mote_pool_s8.h: int8 average and maximum pooling over any window, four channels at a time.
 *
 * Padding takes no part: an average divides by the pixels that lie inside the image.
 */
#ifndef MOTE_POOL_S8_H
#define MOTE_POOL_S8_H

#include "mote_sum_s8.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels;
    int32_t lo, hi; /* the range of the fused activation */
} mote_pool_s8_t;

typedef mote_pool_s8_t mote_avg_pool_s8_t;
typedef mote_pool_s8_t mote_max_pool_s8_t;

/* Divides the sum of n pixels by n, halves away from zero. `inverse` makes the division a multiplication:
 * floor(2^31 / n) + 1 exceeds 2^31 / n by at most 1, so v * inverse / 2^31 exceeds v / n by at most
 * v / 2^31, and rounds down to the same integer as long as that is below 1 / n; v is at most 128.5 * n. */
#define MOTE_INVERSE_MAX 4088 /* the largest n with 128.5 * n * n < 2^31; above it, a real division */

static inline uint32_t mote_inverse(int32_t n) { return n > MOTE_INVERSE_MAX ? 0u : 0x80000000u / (uint32_t)n + 1u; }

static inline int32_t mote_average(int32_t sum, int32_t n, uint32_t inverse) {
    const uint32_t v = (uint32_t)((sum < 0 ? -sum : sum) + n / 2);
    const int32_t q = (int32_t)(inverse != 0 ? (uint32_t)(((uint64_t)v * inverse) >> 31) : v / (uint32_t)n);
    return sum < 0 ? -q : q;
}

static inline void mote_avg_pool_s8_row(const mote_avg_pool_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    int32_t inside = 0;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        inside += rows[k] != NULL;
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        const int32_t start = (first + lo) * channels, count = n * inside;
        const uint32_t inverse = mote_inverse(count);
        int32_t c = 0;
        for (; c + 4 <= channels; c += 4) {
            int32_t sum[4] = {0, 0, 0, 0};
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] != NULL) {
                    mote_sum_4(rows[k] + start + c, channels, n, sum);
                }
            }
            for (int32_t i = 0; i < 4; i++) {
                *out++ = mote_clamp(mote_average(sum[i], count, inverse), p->lo, p->hi);
            }
        }
        for (; c < channels; c++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] != NULL) {
                    sum = mote_sum_1(rows[k] + start + c, channels, n, sum);
                }
            }
            *out++ = mote_clamp(mote_average(sum, count, inverse), p->lo, p->hi);
        }
    }
}

static inline void mote_avg_pool_s8(const mote_avg_pool_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                    int32_t hi) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_avg_pool_s8_row(p, rows, out + y * p->rows.out_stride);
    }
}

/* The maximum of `most` and n pixels, `step` elements apart, of one channel. */
static inline int8_t mote_max_1(const int8_t *x, int32_t step, int32_t n, int8_t most) {
    for (int32_t i = 0; i < n; i++) {
        most = x[i * step] > most ? x[i * step] : most;
    }
    return most;
}

/* The same for four neighbouring channels. */
static inline void mote_max_4(const int8_t *x, int32_t step, int32_t n, int8_t *most) {
#if MOTE_DSP
    uint32_t all, word, difference;
    memcpy(&all, most, 4);
    for (; n > 0; n--, x += step) {
        memcpy(&word, x, 4);
        __asm__("ssub8 %1, %2, %0\n\tsel %0, %2, %0" : "+&r"(all), "=&r"(difference) : "r"(word));
    }
    memcpy(most, &all, 4);
#else
    for (int32_t i = 0; i < 4; i++) {
        most[i] = mote_max_1(x + i, step, n, most[i]);
    }
#endif
}

static inline void mote_max_pool_s8_row(const mote_max_pool_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        const int32_t start = (first + lo) * channels;
        int32_t c = 0;
        for (; c + 4 <= channels; c += 4) {
            int8_t most[4] = {-128, -128, -128, -128};
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] != NULL) {
                    mote_max_4(rows[k] + start + c, channels, n, most);
                }
            }
            for (int32_t i = 0; i < 4; i++) {
                *out++ = mote_clamp(most[i], p->lo, p->hi);
            }
        }
        for (; c < channels; c++) {
            int8_t most = -128;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] != NULL) {
                    most = mote_max_1(rows[k] + start + c, channels, n, most);
                }
            }
            *out++ = mote_clamp(most, p->lo, p->hi);
        }
    }
}

static inline void mote_max_pool_s8(const mote_max_pool_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                    int32_t hi) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_max_pool_s8_row(p, rows, out + y * p->rows.out_stride);
    }
}

#endif
