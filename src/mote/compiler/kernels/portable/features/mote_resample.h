/* mote_resample.h: images of another width or height: sums of pixels times weights of 2^22, rounded once, halves up.
 *
 * Output i of an axis is made from inputs first[i], first[i] + 1, ... with the weights at which[i] * taps. Weights are not
 * negative and have a sum of about 2^22, so that 255 times that fits 31 bits. */
#ifndef MOTE_RESAMPLE_H
#define MOTE_RESAMPLE_H

#include "mote_common.h"

#define MOTE_HALF_PIXEL ((int32_t)1 << 21)
#define MOTE_PIXEL(sum) (uint8_t)((sum) >> 22)

typedef struct {
    int32_t in_columns, columns, channels;
    int32_t taps, kinds; /* weights of an output, and how many outputs have others */
    const int16_t *first;
    const int16_t *which;
    const int16_t *count; /* how many weights of each kind are not zero */
    const int32_t *weights;
} mote_resize_columns_t;

/* One channel of a pixel, from `count` pixels that lie `step` bytes apart: one at least. */
MOTE_ALWAYS_INLINE uint8_t mote_resampled(const uint8_t *from, int32_t step, const int32_t *weights, int32_t count) {
    const int32_t *const end = weights + count;
    int32_t sum = MOTE_HALF_PIXEL;
    do {
        sum += *from * *weights++;
        from += step;
    } while (weights != end);
    return MOTE_PIXEL(sum);
}

/* A pixel of some channels from `count` pixels, one at least. */
MOTE_ALWAYS_INLINE uint8_t *mote_put_resampled(uint8_t *out, const uint8_t *from, int32_t channels,
                                               const int32_t *weights, int32_t count) {
    if (channels == 3) {
        const int32_t *const end = weights + count;
        int32_t a = MOTE_HALF_PIXEL, b = a, c = a;
        do {
            const int32_t weight = *weights++;
            a += from[0] * weight;
            b += from[1] * weight;
            c += from[2] * weight;
            from += 3;
        } while (weights != end);
        *out++ = MOTE_PIXEL(a);
        *out++ = MOTE_PIXEL(b);
        *out++ = MOTE_PIXEL(c);
    } else if (channels == 1) {
        *out++ = mote_resampled(from, 1, weights, count);
    } else {
        for (int32_t c = channels; c > 0; c--) {
            *out++ = mote_resampled(from++, channels, weights, count);
        }
    }
    return out;
}

/* n lines. */
static inline void mote_resize_columns(const mote_resize_columns_t *p, const uint8_t *in, uint8_t *out, int32_t n) {
    const int32_t columns = p->columns, channels = p->channels, taps = p->taps;
    const int16_t *const first = p->first, *const kind = p->which, *const counts = p->count;
    for (; n > 0; n--, in += p->in_columns * channels) {
        for (int32_t x = 0; x < columns; x++) {
            const int32_t which = kind[x], count = counts[which];
            const uint8_t *const from = in + first[x] * channels;
            const int32_t *const weights = p->weights + which * taps;
            out = mote_put_resampled(out, from, channels, weights, count);
        }
    }
}

typedef struct {
    int32_t in_rows, rows, stride; /* lines, and bytes of a line */
    int32_t taps, kinds;
    const int16_t *first;
    const int16_t *which;
    const int32_t *weights;
} mote_resize_rows_t;

/* Line y from as many lines as it has weights, which are in front. */
static inline void mote_resize_rows_row(const mote_resize_rows_t *p, const uint8_t *const *rows, int32_t y, uint8_t *out) {
    const int32_t *const weights = p->weights + p->which[y] * p->taps;
    int32_t count = 0;
    while (count < p->taps && rows[count] != NULL && weights[count] != 0) {
        count++;
    }
    int32_t x = 0;
    for (; x + 4 <= p->stride; x += 4) {
        int32_t a = MOTE_HALF_PIXEL, b = a, c = a, d = a;
        for (int32_t k = 0; k < count; k++) {
            const uint8_t *const from = rows[k] + x;
            const int32_t weight = weights[k];
            a += from[0] * weight;
            b += from[1] * weight;
            c += from[2] * weight;
            d += from[3] * weight;
        }
        *out++ = MOTE_PIXEL(a);
        *out++ = MOTE_PIXEL(b);
        *out++ = MOTE_PIXEL(c);
        *out++ = MOTE_PIXEL(d);
    }
    for (; x < p->stride; x++) {
        int32_t sum = MOTE_HALF_PIXEL;
        for (int32_t k = 0; k < count; k++) {
            sum += rows[k][x] * weights[k];
        }
        *out++ = MOTE_PIXEL(sum);
    }
}

static inline void mote_resize_rows(const mote_resize_rows_t *p, const uint8_t *in, uint8_t *out, int32_t lo, int32_t hi) {
    const uint8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        for (int32_t k = 0; k < p->taps; k++) {
            const int32_t row = p->first[y] + k;
            rows[k] = row < p->in_rows ? in + row * p->stride : NULL;
        }
        mote_resize_rows_row(p, rows, y, out + y * p->stride);
    }
}

#endif
