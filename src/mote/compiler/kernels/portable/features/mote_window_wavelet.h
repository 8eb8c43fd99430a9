/* mote_window_wavelet.h: energies of wavelet transforms of each channel of a window of samples.
 *
 * Haar's is exact. Daubechies' filters of four taps, over sqrt(2) and in 15 bits, take samples in 1/256, and what is
 * behind the last sample is the first.
 */
#ifndef MOTE_WINDOW_WAVELET_H
#define MOTE_WINDOW_WAVELET_H

#include "mote_window_features.h"

typedef struct {
    mote_window_t rows;
    int32_t unit, channels, levels;
    const int32_t *offset; /* what is added to the logarithm of each level's energy, in 1/256 */
} mote_window_haar_t;

typedef mote_window_haar_t mote_window_daubechies_t;

/* Sums of pairs in place; the energy of their differences. */
static inline uint64_t mote_haar_level(int32_t *x, int32_t pairs) {
    uint64_t energy = 0;
    for (int32_t i = 0; i < pairs; i++) {
        const int32_t a = x[2 * i], b = x[2 * i + 1];
        energy += (uint64_t)((int64_t)(a - b) * (a - b));
        x[i] = a + b;
    }
    return energy;
}

/* Averages in place; the energy of details. */
static inline uint64_t mote_daubechies_level(int32_t *x, int32_t pairs) {
    const int32_t h0 = 11190, h1 = 19382, h2 = 5194, h3 = -2998;
    const int32_t first = x[0], second = x[1];
    int32_t a = first, b = second;
    uint64_t energy = 0;
    for (int32_t i = 0; i < pairs; i++) {
        const int32_t c = i + 1 < pairs ? x[2 * i + 2] : first, d = i + 1 < pairs ? x[2 * i + 3] : second;
        const int64_t low = (int64_t)a * h0 + (int64_t)b * h1 + (int64_t)c * h2 + (int64_t)d * h3;
        const int64_t high = (int64_t)a * h3 - (int64_t)b * h2 + (int64_t)c * h1 - (int64_t)d * h0;
        const int32_t detail = (int32_t)((high + (1 << 14)) >> 15);
        x[i] = (int32_t)((low + (1 << 14)) >> 15);
        energy += (uint64_t)((int64_t)detail * detail);
        a = c;
        b = d;
    }
    return energy;
}

/* `scale`: of samples. */
#define MOTE_WINDOW_WAVELET(name, level_of, scale) \
    static inline void mote_window_##name##_row(const mote_window_##name##_t *p, const int16_t *const *rows, \
                                                int16_t *out, int32_t *scratch) { \
        for (int32_t c = 0; c < p->channels; c++) { \
            int32_t pairs = p->rows.taps * p->unit; \
            mote_window_channel(&p->rows, rows, p->unit, p->channels, c, scale, scratch); \
            for (int32_t level = 0; level < p->levels; level++) { \
                pairs >>= 1; \
                *out++ = (int16_t)mote_saturate_s16(mote_integer_log2(level_of(scratch, pairs)) + \
                                                    mote_flash_s32(p->offset + level)); \
            } \
        } \
    } \
\
    MOTE_UNUSED static inline void mote_window_##name(const mote_window_##name##_t *p, const int16_t *in, int16_t *out, \
                                                      int32_t lo, int32_t hi, int32_t *scratch) { \
        const int16_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s16(&p->rows, in, y, rows); \
            mote_window_##name##_row(p, rows, out + y * p->rows.out_stride, scratch); \
        } \
    }

MOTE_WINDOW_WAVELET(haar, mote_haar_level, 1)
MOTE_WINDOW_WAVELET(daubechies, mote_daubechies_level, 256)

#endif
