/* mote_window_spectrum.h: powers in bands, and the strongest frequency, of each channel of a window of samples.
 *
 * A channel less its mean is windowed into working memory, where it becomes its spectrum.
 */
#ifndef MOTE_WINDOW_SPECTRUM_H
#define MOTE_WINDOW_SPECTRUM_H

#include "mote_real_fft.h"
#include "mote_window_features.h"

#define MOTE_SPECTRUM_SILENCE (-16 * 256) /* the logarithm of the least power, in 1/256 */

typedef struct {
    mote_window_t rows;
    int32_t unit, channels;
    mote_real_fft_t fft;    /* of as many samples as a window has */
    const uint16_t *window; /* in 14 bits; NULL: ones */
    int32_t bands, dominant;
    const uint16_t *edges;  /* the first bin of each band, and the one behind the last */
    int32_t offset;         /* what is added to logarithms, in 1/256 */
} mote_window_spectrum_t;

static inline int32_t mote_window_mean(const mote_window_spectrum_t *p, const int16_t *const *rows, int32_t channel) {
    const int32_t n = p->fft.length;
    int32_t sum = n / 2;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        const int16_t *x = rows[k] + channel;
        for (int32_t i = 0; i < p->unit; i++, x += p->channels) {
            sum += *x;
        }
    }
    return sum < 0 ? -((n - 1 - sum) / n) : sum / n;
}

/* Channel less its mean, times the window: its magnitudes, joined by |, or its samples in their places. */
MOTE_ALWAYS_INLINE uint32_t mote_window_put(const mote_window_spectrum_t *p, const int16_t *const *rows, int32_t channel,
                                            int32_t mean, int32_t shift, mote_bin_t *data) {
    const uint16_t *w = p->window;
    uint32_t all = 0;
    int32_t at = 0;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        const int16_t *x = rows[k] + channel;
        for (int32_t i = 0; i < p->unit; i++, x += p->channels, at++) {
            const int32_t sample = (*x - mean) * (w == NULL ? 16384 : (int32_t)mote_flash_u16(w + at));
            if (data == NULL) {
                all |= mote_magnitude(sample);
            } else {
                mote_real_fft_put(&p->fft, data, at, (int16_t)mote_halves_up(sample, shift));
            }
        }
    }
    return all;
}

/* The powers of a channel, in units of 4^exponent; 0 where there is nothing but zeros. */
static inline int32_t mote_window_powers(const mote_window_spectrum_t *p, const int16_t *const *rows, int32_t channel,
                                         mote_bin_t *data, int32_t *exponent) {
    const int32_t mean = mote_window_mean(p, rows, channel);
    int32_t bits = mote_real_bits(mote_window_put(p, rows, channel, mean, 0, NULL));
    int32_t shift = mote_real_fft_scale(bits);
    if (bits == 0) {
        return 0;
    }
    (void)mote_window_put(p, rows, channel, mean, shift, data);
    bits = mote_min(bits, 14);
    *exponent = shift - 14 + mote_real_fft(&p->fft, data, &bits);
    shift = mote_real_fft_last_shift(bits);
    mote_real_fft_powers(&p->fft, data, p->fft.length / 2, shift);
    *exponent += shift - 15;
    return 1;
}

static inline int32_t mote_window_dominant(const mote_bin_t *data, int32_t top) {
    int32_t most = 1;
    for (int32_t k = 2; k <= top; k++) {
        most = data[k].power > data[most].power ? k : most;
    }
    return most;
}

static inline void mote_window_spectrum_row(const mote_window_spectrum_t *p, const int16_t *const *rows, int16_t *out,
                                            mote_bin_t *scratch) {
    for (int32_t c = 0; c < p->channels; c++) {
        int32_t exponent = 0;
        const int32_t heard = mote_window_powers(p, rows, c, scratch, &exponent);
        for (int32_t band = 0; band < p->bands; band++) {
            int32_t log2 = MOTE_SPECTRUM_SILENCE;
            if (heard) {
                uint64_t energy = 0;
                for (int32_t k = mote_flash_u16(p->edges + band); k < mote_flash_u16(p->edges + band + 1); k++) {
                    energy += scratch[k].power;
                }
                log2 = mote_integer_log2(energy) + 512 * exponent + p->offset;
            }
            *out++ = (int16_t)mote_saturate_s16(log2 > MOTE_SPECTRUM_SILENCE ? log2 : MOTE_SPECTRUM_SILENCE);
        }
        if (p->dominant) {
            *out++ = (int16_t)(heard ? mote_window_dominant(scratch, p->fft.length / 2) : 0);
        }
    }
}

MOTE_UNUSED static inline void mote_window_spectrum(const mote_window_spectrum_t *p, const int16_t *in, int16_t *out,
                                                    int32_t lo, int32_t hi, mote_bin_t *scratch) {
    const int16_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s16(&p->rows, in, y, rows);
        mote_window_spectrum_row(p, rows, out + y * p->rows.out_stride, scratch);
    }
}

#endif
