/* mote_spectral_features.h: spectra of frames of sound, sums over mel bands, their logarithms and cepstra.
 *
 * A frame is a few rows of samples. It is windowed into working memory, where its transform, the squared magnitudes and
 * the logarithms of bands take one another's place.
 */
#ifndef MOTE_SPECTRAL_FEATURES_H
#define MOTE_SPECTRAL_FEATURES_H

#include "mote_real_fft.h"

typedef struct {
    mote_window_t rows; /* of samples under a frame */
    int32_t unit;       /* samples of a row */
    int32_t fraction;   /* bits of samples behind the point */
    mote_real_fft_t fft;
    const int16_t *window;           /* NULL: samples as they are */
    int32_t power;                   /* squared magnitudes, not magnitudes */
    int32_t filters, first, top;     /* of the filter bank, 0: none; the first and the last bin that is used */
    const uint16_t *counts, *rising; /* bins between neighbouring edges, and their weights in the filter that rises */
    const uint16_t *root;            /* square roots */
} mote_spectrum_t;

/* What a frame became: powers, in units of 4^exponent. */
typedef struct {
    int32_t heard; /* whether there was anything but zeros */
    int32_t exponent;
} mote_framed_t;

/* Sample x of a frame times the window there. */
static inline int32_t mote_windowed(const mote_spectrum_t *p, int32_t x, int32_t at) {
    return x * (p->window == NULL ? (int32_t)32768 : mote_flash_s16(p->window + at));
}

/* Scaled samples in their places, and how many bits they were shifted right. Pairs are numbers of the transform. */
MOTE_HOT MOTE_NOINLINE int32_t mote_spectrum_load(const mote_spectrum_t *p, const int16_t *const *rows, mote_bin_t *data,
                                                  int32_t *bits) {
    const int32_t unit = p->unit, frame = p->rows.taps * unit, folded = p->fft.length != p->fft.points;
    const int32_t pairs = folded && p->window != NULL && (unit & 1) == 0 ? unit : 0;
    const int16_t *w = p->window;
    const uint16_t *place = p->fft.place;
    uint32_t all = 0;
    int32_t shift, half, at = 0;
    for (int32_t row = 0; row < p->rows.taps; row++) {
        const int16_t *x = rows[row];
        const int16_t *const end = x + pairs, *const last = x + unit;
        for (; x != end; x += 2, w += 2) {
            const mote_complex_t two = mote_complex(x), by = mote_complex_constant(w);
            all |= mote_magnitude(mote_reals_add(two, by, 0)) | mote_magnitude(mote_imags_add(two, by, 0));
        }
        for (; x != last; x++, at++) {
            all |= mote_magnitude(mote_windowed(p, *x, at));
        }
    }
    *bits = mote_real_bits(all);
    shift = mote_real_fft_scale(*bits);
    half = ((int32_t)1 << shift) >> 1;
    w = p->window;
    at = 0;
    for (int32_t row = 0; row < p->rows.taps; row++) {
        const int16_t *x = rows[row];
        const int16_t *const end = x + pairs, *const last = x + unit;
        for (; x != end; x += 2, w += 2, place++) {
            const mote_complex_t two = mote_complex(x), by = mote_complex_constant(w);
            const int32_t real = mote_reals_add(two, by, half) >> shift, imag = mote_imags_add(two, by, half) >> shift;
            (void)mote_complex_store(data[mote_flash_u16(place)].z, real, imag);
        }
        for (; x != last; x++, at++) {
            mote_real_fft_put(&p->fft, data, at, (int16_t)((mote_windowed(p, *x, at) + half) >> shift));
        }
    }
    for (at = frame; at < p->fft.length; at++) {
        if (folded && (at & 1) == 0) {
            data[mote_flash_u16(p->fft.place + (at >> 1))].power = 0;
            at++;
        } else {
            mote_real_fft_put(&p->fft, data, at, 0);
        }
    }
    return shift;
}

static inline mote_framed_t mote_spectrum(const mote_spectrum_t *p, const int16_t *const *rows, mote_bin_t *data) {
    mote_framed_t framed = {0, 0};
    int32_t bits, shift = mote_spectrum_load(p, rows, data, &bits);
    framed.heard = bits > 0;
    if (framed.heard) {
        bits = mote_min(bits, 14);
        framed.exponent = shift - 15 - p->fraction + mote_real_fft(&p->fft, data, &bits);
        shift = mote_real_fft_last_shift(bits);
        mote_real_fft_powers(&p->fft, data, p->top, shift);
        framed.exponent += shift - 15;
    }
    return framed;
}

/* A square root with 8 bits behind the point. */
static inline uint32_t mote_magnitude_root(const uint16_t *table, uint32_t x) {
    const int32_t even = (32 - mote_real_bits(x)) & ~(int32_t)1;
    uint32_t step, lower;
    if (x == 0) {
        return 0;
    }
    x <<= even;
    step = (x >> 25) - 32;
    lower = mote_flash_u16(table + step);
    lower += ((mote_flash_u16(table + step + 1) - lower) * ((x >> 9) & 0xFFFF)) >> 16;
    return ((lower + 32768) << 8) >> (even >> 1);
}

static inline uint32_t mote_spectrum_energy(const mote_spectrum_t *p, uint32_t power) {
    return p->power ? power : mote_magnitude_root(p->root, power);
}

/* What an energy is multiplied by, as a power of two. */
static inline int32_t mote_spectrum_exponent(const mote_spectrum_t *p, mote_framed_t framed) {
    return p->power ? 2 * framed.exponent - 15 : framed.exponent - 15 - 8;
}

/* The sum over a part of the spectrum between two edges, and how much of it rises. */
typedef struct {
    uint64_t all, rising;
} mote_band_sum_t;

MOTE_ALWAYS_INLINE mote_band_sum_t mote_band_sum(const mote_spectrum_t *p, const mote_bin_t *data, int32_t at,
                                                 int32_t count) {
    mote_band_sum_t sum = {0, 0};
    for (const uint16_t *w = p->rising + at; count > 0; count--, at++, w++) {
        const uint32_t energy = mote_spectrum_energy(p, data[p->first + at].power);
        sum.all += energy;
        sum.rising += (uint64_t)energy * mote_flash_u16(w);
    }
    return sum;
}

/* x as a number from 2^31 to 2^32, and the power of two that it is to be multiplied by. */
static inline uint32_t mote_mantissa(uint64_t x, int32_t *power) {
    const uint32_t high = (uint32_t)(x >> 32);
    int32_t bits = mote_real_bits(high);
    if (high != 0) {
        *power = bits;
        return (uint32_t)(x >> bits);
    }
    bits = (32 - mote_real_bits((uint32_t)x)) & 31;
    *power = -bits;
    return (uint32_t)x << bits;
}

/* A logarithm to the base of two with 16 bits behind the point. */
static inline int32_t mote_binary_log(const uint16_t *table, uint64_t x) {
    int32_t power;
    const uint32_t m = mote_mantissa(x, &power), step = (m >> 25) & 63, lower = mote_flash_u16(table + step);
    const uint32_t bend = (uint16_t)(mote_flash_u16(table + step + 1) - lower);
    return (power + 31) * 65536 + (int32_t)(lower + ((bend * ((m >> 9) & 0xFFFF)) >> 16));
}

/* A binary logarithm times a factor with 32 bits behind the point, halves up. */
static inline int32_t mote_log_unit(int32_t log, int32_t factor) {
    return (int32_t)(((int64_t)log * factor + ((int64_t)1 << 31)) >> 32);
}

typedef struct {
    mote_spectrum_t spectrum;
    uint32_t offset, least;  /* the floor, from 2^31 on; an energy in place of none */
    int32_t offset_power;    /* of two, that multiplies the floor */
    int32_t octaves, factor; /* less than logarithms of base two, and what makes them those that are wanted */
    int32_t nothing;         /* the logarithm of the floor */
    const uint16_t *log;
    int32_t coefficients, cosine_shift;
    const int16_t *cosines; /* for each coefficient, one for each filter */
    int32_t logs_at;        /* where the logarithms of bands lie, behind the spectrum or in the place of it */
} mote_spectral_logs_t;

/* What all energies of a frame need for their logarithms. */
typedef struct {
    uint64_t raised; /* the floor */
    int32_t base;    /* the logarithm of what multiplies them */
    int32_t heard;
} mote_log_frame_t;

static inline mote_log_frame_t mote_log_frame(const mote_spectral_logs_t *p, mote_framed_t framed) {
    mote_log_frame_t frame = {0, 0, framed.heard};
    const int32_t exponent = mote_spectrum_exponent(&p->spectrum, framed), up = p->offset_power - exponent;
    if (up > 30) {
        frame.heard = 0;
    } else if (up >= 0) {
        frame.raised = (uint64_t)p->offset << up;
    } else if (up > -32) {
        frame.raised = p->offset >> -up;
    }
    frame.base = exponent * 65536 - p->octaves;
    return frame;
}

static inline int32_t mote_spectral_log(const mote_spectral_logs_t *p, const mote_log_frame_t *frame, uint64_t energy) {
    const int32_t log = mote_binary_log(p->log, (energy == 0 ? p->least : energy) + frame->raised) + frame->base;
    return mote_saturate_s16(mote_log_unit(log, p->factor));
}

/* Logarithms of a frame where they lie before a cepstrum, or as the output. */
static inline void mote_spectral_put(const mote_spectral_logs_t *p, mote_bin_t *logs, int16_t *out, int32_t i,
                                     int32_t value) {
    if (p->coefficients > 0) {
        logs[i].power = (uint32_t)value;
    } else {
        out[i] = (int16_t)value;
    }
}

MOTE_HOT MOTE_NOINLINE void mote_spectral_cepstrum(const mote_spectral_logs_t *p, const mote_bin_t *logs, int16_t *out) {
    const int32_t filters = p->spectrum.filters;
    const int16_t *cosine = p->cosines;
    for (int32_t c = 0; c < p->coefficients; c++) {
        int32_t sum = ((int32_t)1 << p->cosine_shift) >> 1;
        for (int32_t i = 0; i < filters; i++) {
            sum = MOTE_PLUS(sum, (int32_t)logs[i].power * mote_flash_s16(cosine));
            cosine++;
        }
        out[c] = (int16_t)mote_saturate_s16(sum >> p->cosine_shift);
    }
}

MOTE_HOT MOTE_NOINLINE void mote_spectral_logs_row(const mote_spectral_logs_t *p, const int16_t *const *rows, int16_t *out,
                                                   int8_t *scratch) {
    const mote_spectrum_t *const s = &p->spectrum;
    mote_bin_t *const data = (mote_bin_t *)(void *)scratch, *const logs = data + p->logs_at;
    const mote_log_frame_t frame = mote_log_frame(p, mote_spectrum(s, rows, data));
    if (s->filters == 0) {
        for (int32_t k = 0; k <= s->top; k++) {
            const uint64_t energy = frame.heard ? (uint64_t)mote_spectrum_energy(s, data[k].power) << 15 : 0;
            out[k] = (int16_t)(frame.heard ? mote_spectral_log(p, &frame, energy) : p->nothing);
        }
        return;
    }
    if (!frame.heard) {
        for (int32_t i = 0; i < s->filters; i++) {
            mote_spectral_put(p, logs, out, i, p->nothing);
        }
    } else {
        int32_t at = mote_flash_u16(s->counts), before = at;
        uint64_t rising = mote_band_sum(s, data, 0, at).rising;
        for (int32_t i = 0; i < s->filters; i++) {
            const int32_t count = mote_flash_u16(s->counts + i + 1);
            const mote_band_sum_t band = mote_band_sum(s, data, at, count);
            const uint64_t energy = rising + (band.all << 15) - band.rising;
            const int32_t log = before + count > 0 ? mote_spectral_log(p, &frame, energy) : p->nothing;
            mote_spectral_put(p, logs, out, i, log);
            rising = band.rising;
            before = count;
            at += count;
        }
    }
    if (p->coefficients > 0) {
        mote_spectral_cepstrum(p, logs, out);
    }
}

typedef struct {
    mote_spectrum_t spectrum;
    uint32_t share;         /* one in so many, from 2^30 to 2^31 */
    int32_t less, fraction; /* by how many bits it is too large; bits of the output behind the point */
} mote_spectral_energies_t;

static inline int32_t mote_spectral_energy(const mote_spectral_energies_t *p, uint64_t energy, int32_t exponent) {
    int32_t power;
    const uint64_t wide = ((uint64_t)mote_mantissa(energy, &power) * p->share) >> 31;
    const int32_t up = power + exponent - p->less + p->fraction;
    uint64_t value;
    if (energy == 0 || up < -40) {
        return 0;
    }
    value = up < 0 ? (wide + ((uint64_t)1 << (-1 - up))) >> -up : wide << (up < 31 ? up : 31);
    return value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

MOTE_HOT MOTE_NOINLINE void mote_spectral_energies_row(const mote_spectral_energies_t *p, const int16_t *const *rows,
                                                       int32_t *out, int8_t *scratch) {
    const mote_spectrum_t *const s = &p->spectrum;
    mote_bin_t *const data = (mote_bin_t *)(void *)scratch;
    const mote_framed_t framed = mote_spectrum(s, rows, data);
    const int32_t exponent = mote_spectrum_exponent(s, framed), columns = s->filters > 0 ? s->filters : s->top + 1;
    if (!framed.heard) {
        for (int32_t i = 0; i < columns; i++) {
            out[i] = 0;
        }
    } else if (s->filters == 0) {
        for (int32_t k = 0; k < columns; k++) {
            out[k] = mote_spectral_energy(p, (uint64_t)mote_spectrum_energy(s, data[k].power) << 15, exponent);
        }
    } else {
        int32_t at = mote_flash_u16(s->counts);
        uint64_t rising = mote_band_sum(s, data, 0, at).rising;
        for (int32_t i = 0; i < columns; i++) {
            const int32_t count = mote_flash_u16(s->counts + i + 1);
            const mote_band_sum_t band = mote_band_sum(s, data, at, count);
            out[i] = mote_spectral_energy(p, rising + (band.all << 15) - band.rising, exponent);
            rising = band.rising;
            at += count;
        }
    }
}

typedef struct {
    int32_t columns;
    const int32_t *factors; /* of each column: what an octave of the gain is, with 32 bits behind the point */
    const int16_t *silence;
    const uint16_t *log;
} mote_remove_gain_t;

/* n frames as if the sound had been divided by its largest sample. */
MOTE_HOT MOTE_NOINLINE void mote_remove_gain(const mote_remove_gain_t *p, const int16_t *in, const int16_t *peak,
                                             int16_t *out, int32_t n) {
    const int32_t columns = p->columns, level = *peak > 0 ? mote_binary_log(p->log, (uint64_t)*peak) - 15 * (int32_t)65536 : 0;
    for (; n > 0; n--, in += columns, out += columns) {
        int32_t silent = 1;
        for (int32_t i = 0; i < columns; i++) {
            silent &= in[i] == mote_flash_s16(p->silence + i);
        }
        for (int32_t i = 0; i < columns; i++) {
            const int32_t less = silent ? 0 : mote_log_unit(level, mote_flash_s32(p->factors + i));
            out[i] = (int16_t)mote_saturate_s16(in[i] - less);
        }
    }
}

typedef struct {
    int32_t unused;
} mote_divide_by_peak_t;

/* n samples divided by the largest of all, with 15 bits behind the point. */
MOTE_HOT MOTE_NOINLINE void mote_divide_by_peak(const mote_divide_by_peak_t *p, const int16_t *in, const int16_t *peak,
                                                int32_t *out, int32_t n) {
    const int32_t largest = *peak;
    (void)p;
    for (; n > 0; n--) {
        const int32_t x = *in++;
        if (largest > 0) {
            const int32_t wide = x * 32768 + (largest >> 1), quotient = wide / largest;
            *out++ = quotient - (wide < 0 && quotient * largest != wide);
        } else {
            *out++ = x;
        }
    }
}

/* Over samples whose rows lie one after another. */
#define MOTE_SPECTRAL(name, out_t) \
    MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const int16_t *in, out_t *out, int32_t lo, \
                                               int32_t hi, int8_t *scratch) { \
        const int16_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s16(&p->spectrum.rows, in, y, rows); \
            mote_##name##_row(p, rows, out + y * p->spectrum.rows.out_stride, scratch); \
        } \
    }

MOTE_SPECTRAL(spectral_logs, int16_t)
MOTE_SPECTRAL(spectral_energies, int32_t)

#endif
