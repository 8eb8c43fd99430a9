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

#if MOTE_DSP
/* Four averages without an activation: none leaves int8. */
static inline void mote_average_4(const int32_t *sum, const mote_average_t *a, int8_t *out) {
    const uint32_t low = mote_average_above(sum[0], a) | mote_average_above(sum[1], a) << 8;
    const uint32_t high = mote_average_above(sum[2], a) | mote_average_above(sum[3], a) << 8;
    const uint32_t four = (low | high << 16) ^ 0x80808080u;
    memcpy(out, &four, 4);
}
#else
static inline void mote_average_4(const int32_t *sum, const mote_average_t *a, int8_t *out) {
    for (int32_t i = 0; i < 4; i++) {
        out[i] = (int8_t)mote_average(sum[i], a);
    }
}
#endif

static inline void mote_avg_pool_s8_row(const mote_avg_pool_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, taps = p->rows.taps, least = p->lo, greatest = p->hi;
    int32_t inside = 0;
    for (int32_t k = 0; k < taps; k++) {
        inside += rows[k] != NULL;
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        const int32_t start = (first + lo) * channels;
        const mote_average_t average = mote_average_of(n * inside);
        const int32_t plain = least == -128 && greatest == 127;
        int32_t c = 0;
        for (; c + 4 <= channels; c += 4, out += 4) {
            int32_t sum[4] = {0, 0, 0, 0};
            mote_sum_4_rows(rows, taps, start + c, channels, n, sum);
            if (plain) {
                mote_average_4(sum, &average, out);
                continue;
            }
            for (int32_t i = 0; i < 4; i++) {
                out[i] = mote_clamp(mote_average(sum[i], &average), least, greatest);
            }
        }
        for (; c < channels; c++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < taps; k++) {
                if (rows[k] != NULL) {
                    sum = mote_sum_1(rows[k] + start + c, channels, n, sum);
                }
            }
            *out++ = mote_clamp(mote_average(sum, &average), least, greatest);
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
static inline int32_t mote_max_1(const int8_t *x, int32_t step, int32_t n, int32_t most) {
    for (; n > 0; n--, x += step) {
        most = *x > most ? *x : most;
    }
    return most;
}

#if MOTE_DSP
/* The larger (or smaller) of each of four bytes. */
static inline uint32_t mote_max_bytes(uint32_t a, uint32_t b) {
    uint32_t r;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(r) : "r"(a), "r"(b));
    return r;
}

static inline uint32_t mote_min_bytes(uint32_t a, uint32_t b) {
    uint32_t r;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %2, %1" : "=&r"(r) : "r"(a), "r"(b));
    return r;
}

/* mote_max_1 for four neighbouring channels. */
static inline uint32_t mote_max_4(const int8_t *x, int32_t step, int32_t n, uint32_t most) {
    for (; n > 0; n--, x += step) {
        most = mote_max_bytes(most, mote_load4(x));
    }
    return most;
}
#endif

static inline void mote_max_pool_s8_row(const mote_max_pool_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels, taps = p->rows.taps, least = p->lo, greatest = p->hi;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        const int32_t start = (first + lo) * channels;
        int32_t c = 0;
#if MOTE_DSP
        for (; c + 4 <= channels; c += 4, out += 4) {
            uint32_t most = (uint32_t)(least & 0xff) * 0x01010101u;
            for (int32_t k = 0; k < taps; k++) {
                if (rows[k] != NULL) {
                    most = mote_max_4(rows[k] + start + c, channels, n, most);
                }
            }
            most = mote_min_bytes(most, (uint32_t)(greatest & 0xff) * 0x01010101u);
            memcpy(out, &most, 4);
        }
#endif
        for (; c < channels; c++) {
            int32_t most = least;
            for (int32_t k = 0; k < taps; k++) {
                if (rows[k] != NULL) {
                    most = mote_max_1(rows[k] + start + c, channels, n, most);
                }
            }
            *out++ = (int8_t)mote_min(most, greatest);
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
