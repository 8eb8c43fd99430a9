/* mote_pool_s16.h: int16 average and maximum pooling over any window, and to a single row one input row at a time.
 *
 * Padding takes no part: an average divides by the pixels that lie inside the image, and rounds halves away from zero. */
#ifndef MOTE_POOL_S16_H
#define MOTE_POOL_S16_H

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

/* Row pointers into a tensor whose rows lie one after another. */
static inline void mote_pool_window_s16(const mote_window_t *w, const int16_t *in, int32_t y, const int16_t **rows) {
    int32_t image;
    int32_t row = mote_window_first(w, y, &image);
    in += image * w->in_rows * w->in_stride;
    for (int32_t k = 0; k < w->taps; k++, row++) {
        rows[k] = row >= 0 && row < w->in_rows ? in + row * w->in_stride : NULL;
    }
}

static inline void mote_avg_pool_s16_row(const mote_pool_s16_t *p, const int16_t *const *rows, int16_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    int32_t inside = 0;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        inside += rows[k] != NULL;
    }
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        for (int32_t c = 0; c < channels; c++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] != NULL) {
                    sum = mote_sum_s16(rows[k] + (first + lo) * channels + c, channels, n, sum);
                }
            }
            *out++ = mote_pool_clamp_s16(mote_average_s16(sum, n * inside), p->lo, p->hi);
        }
    }
}

static inline void mote_avg_pool_s16(const mote_pool_s16_t *p, const int16_t *in, int16_t *out, int32_t lo,
                                     int32_t hi) {
    const int16_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_pool_window_s16(&p->rows, in, y, rows);
        mote_avg_pool_s16_row(p, rows, out + y * p->rows.out_stride);
    }
}

static inline void mote_max_pool_s16_row(const mote_pool_s16_t *p, const int16_t *const *rows, int16_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t channels = p->channels;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), n = mote_span_hi(s, first) - lo;
        for (int32_t c = 0; c < channels; c++) {
            int32_t most = p->lo;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                if (rows[k] != NULL) {
                    most = mote_max_s16(rows[k] + (first + lo) * channels + c, channels, n, most);
                }
            }
            *out++ = (int16_t)mote_min(most, p->hi);
        }
    }
}

static inline void mote_max_pool_s16(const mote_pool_s16_t *p, const int16_t *in, int16_t *out, int32_t lo,
                                     int32_t hi) {
    const int16_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_pool_window_s16(&p->rows, in, y, rows);
        mote_max_pool_s16_row(p, rows, out + y * p->rows.out_stride);
    }
}

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
