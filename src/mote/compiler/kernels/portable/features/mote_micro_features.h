/* mote_micro_features.h: the micro front end: magnitudes of a frame's channels, and their features.
 *
 * A frame of 2 * half samples is a complex signal of half as many, transformed in place with the arithmetic of Kiss FFT:
 * stages of radix 4, and a first one of radix 2 where half is no power of four, each of which divides by its radix. Where
 * a twiddle factor is one, or what Kiss FFT has for it, its product is what it was multiplied with.
 */
#ifndef MOTE_MICRO_FEATURES_H
#define MOTE_MICRO_FEATURES_H

#include "mote_pairs_s16.h"

/* Bits of a number. */
static inline int32_t mote_micro_bits(uint32_t x) {
#ifdef mote_leading_zeros
    return x == 0 ? 0 : 32 - mote_leading_zeros(x);
#else
    int32_t bits = 0;
    if (x >> 16 != 0) {
        x >>= 16;
        bits += 16;
    }
    if (x >> 8 != 0) {
        x >>= 8;
        bits += 8;
    }
    if (x >> 4 != 0) {
        x >>= 4;
        bits += 4;
    }
    if (x >> 2 != 0) {
        x >>= 2;
        bits += 2;
    }
    if (x >> 1 != 0) {
        x >>= 1;
        bits += 1;
    }
    return bits + (x != 0);
#endif
}

typedef struct {
    mote_window_t rows;
    int32_t pairs, half, channels;    /* pairs of samples of a row, and of the FFT */
    const uint32_t *window;           /* a pair for each of a frame's */
    const int16_t *place;             /* where each pair of the FFT lies before its first stage */
    const uint32_t *roots, *last;     /* three for each turn of each stage but the first; and what unfolds the spectrum */
    const int16_t *edges;             /* the bins that channels begin at, from the one before the first to behind the last */
    const uint32_t *weights;          /* of bins, for a channel and for the next one */
    const uint8_t *root;              /* of each multiple of 256 from 64 * 256 on, by its high byte */
} mote_micro_spectrum_t;

/* Samples times the window, in the order of the FFT. By how many bits they can be shifted left: -32768 does not count,
 * and becomes 0 where there are any. */
MOTE_HOT static inline int32_t mote_micro_window(const mote_micro_spectrum_t *p, const int16_t *const *rows, uint32_t *x) {
    const uint32_t *window = p->window;
    const int16_t *place = p->place;
    uint32_t sizes = 0;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        const int16_t *in = rows[k];
        for (int32_t i = 0; i < p->pairs; i++, in += 2) {
            const mote_pair_t pair = mote_pair_windowed(mote_pair_load(in), mote_pair_of(*window++));
            sizes |= mote_pair_sizes(pair);
            x[*place++] = mote_pair_word(pair);
        }
    }
    while (place < p->place + p->half) {
        x[*place++] = 0;
    }
    sizes |= sizes >> 16;
    const int32_t shift = (15 - mote_micro_bits(sizes & 0x7fff)) & 15;
    if ((sizes & 0x8000) != 0 && shift > 0) {
        for (int32_t i = 0; i < p->half; i++) {
            x[i] = mote_pair_word(mote_pair_above_lowest(mote_pair_of(x[i])));
        }
    }
    return shift;
}

#define MOTE_HALF (INT16_MAX / 2)
#define MOTE_QUARTER (INT16_MAX / 4)

/* The sums and differences of four numbers that have been divided by four. */
MOTE_ALWAYS_INLINE void mote_micro_four(uint32_t *x, int32_t m, mote_pair_t a, mote_pair_t b, mote_pair_t c,
                                        mote_pair_t d) {
    const mote_pair_t apart = mote_pair_sub(a, c), first = mote_pair_add(a, c);
    const mote_pair_t total = mote_pair_add(b, d), across = mote_pair_sub(b, d);
    x[0] = mote_pair_word(mote_pair_add(first, total));
    x[m] = mote_pair_word(mote_pair_sub_turned(apart, across));
    x[2 * m] = mote_pair_word(mote_pair_sub(first, total));
    x[3 * m] = mote_pair_word(mote_pair_add_turned(apart, across));
}

MOTE_ALWAYS_INLINE mote_pair_t mote_micro_quarter(uint32_t word) {
    return mote_pair_scaled(mote_pair_of(word), MOTE_QUARTER);
}

/* The first stage, of samples that are shifted left, and how many of its transforms lie in one of the second. */
MOTE_HOT static inline int32_t mote_micro_first(uint32_t *x, int32_t half, int32_t shift) {
    uint32_t *const end = x + half;
    if ((half & 0x5555) == 0) {
        for (; x < end; x += 2) {
            const mote_pair_t a = mote_pair_shifted_scaled(mote_pair_of(x[0]), MOTE_HALF, shift);
            const mote_pair_t b = mote_pair_shifted_scaled(mote_pair_of(x[1]), MOTE_HALF, shift);
            x[0] = mote_pair_word(mote_pair_add(a, b));
            x[1] = mote_pair_word(mote_pair_sub(a, b));
        }
        return 2;
    }
    for (; x < end; x += 4) {
        const mote_pair_t a = mote_pair_shifted_scaled(mote_pair_of(x[0]), MOTE_QUARTER, shift);
        const mote_pair_t b = mote_pair_shifted_scaled(mote_pair_of(x[1]), MOTE_QUARTER, shift);
        const mote_pair_t c = mote_pair_shifted_scaled(mote_pair_of(x[2]), MOTE_QUARTER, shift);
        const mote_pair_t d = mote_pair_shifted_scaled(mote_pair_of(x[3]), MOTE_QUARTER, shift);
        mote_micro_four(x, 1, a, b, c, d);
    }
    return 4;
}

/* A stage of transforms of m numbers each. */
MOTE_HOT static inline const uint32_t *mote_micro_stage(uint32_t *x, int32_t half, int32_t m, const uint32_t *roots) {
    for (int32_t k = 0; k < half; k += 4 * m) {
        uint32_t *const y = x + k;
        const mote_pair_t a = mote_micro_quarter(y[0]), b = mote_micro_quarter(y[m]);
        const mote_pair_t c = mote_micro_quarter(y[2 * m]), d = mote_micro_quarter(y[3 * m]);
        mote_micro_four(y, m, a, b, c, d);
    }
    for (int32_t u = 1; u < m; u++, roots += 3) {
        const mote_pair_t one = mote_pair_of(roots[0]), two = mote_pair_of(roots[1]), three = mote_pair_of(roots[2]);
        for (int32_t k = u; k < half; k += 4 * m) {
            uint32_t *const y = x + k;
            const mote_pair_t a = mote_micro_quarter(y[0]);
            const mote_pair_t b = mote_pair_product(mote_micro_quarter(y[m]), one);
            const mote_pair_t c = mote_pair_product(mote_micro_quarter(y[2 * m]), two);
            const mote_pair_t d = mote_pair_product(mote_micro_quarter(y[3 * m]), three);
            mote_micro_four(y, m, a, b, c, d);
        }
    }
    return roots;
}

/* Energies of the real signal's spectrum from the transform of its even and odd samples, but for the first and the last
 * one, which no channel has. */
MOTE_HOT static inline void mote_micro_energies(uint32_t *x, int32_t half, const uint32_t *last) {
    uint32_t *y = x + half;
    for (x++, y--; x <= y; x++, y--) {
        const mote_pair_t near = mote_pair_scaled(mote_pair_of(*x), MOTE_HALF);
        const mote_pair_t far = mote_pair_scaled(mote_pair_conjugate(mote_pair_of(*y)), MOTE_HALF);
        const mote_pair_t total = mote_pair_add(near, far);
        const mote_pair_t turned = mote_pair_product(mote_pair_sub(near, far), mote_pair_of(*last++));
        *x = mote_pair_square(mote_pair_mean(total, turned));
        *y = mote_pair_square(mote_pair_mean_apart(total, turned));
    }
}

/* The square root of x, which is 2^30 at least, rounded down; x becomes what is left of it. */
static inline uint32_t mote_micro_root(const uint8_t *table, uint32_t *x) {
    const uint32_t top = *x >> 16;
    uint32_t root = table[top >> 8], rest = top - root * root;
    if (rest > 2 * root) {
        rest -= 2 * root + 1;
        root++;
    }
    const uint32_t more = rest << 8 | (*x >> 8 & 0xff), next = more / (2 * root);
    *x = ((more - 2 * root * next) << 8 | (*x & 0xff)) - next * next;
    root = (root << 8) + next;
    if (*x >> 31 != 0) {
        root--;
        *x += 2 * root + 1;
    }
    return root;
}

/* The square root of a number of at most 61 bits, rounded to the nearest; one of 32 bits has a root of at most 16. */
static inline uint32_t mote_micro_nearest_root(const uint8_t *table, uint64_t n) {
    const uint32_t high = (uint32_t)(n >> 32), low = (uint32_t)n;
    uint32_t root;
    int32_t places;
    if (high != 0) {
        places = (32 - mote_micro_bits(high)) & 30;
        const uint64_t up = n << places;
        uint32_t rest = (uint32_t)(up >> 32);
        const uint32_t behind = (uint32_t)up;
        root = mote_micro_root(table, &rest);
        const uint32_t more = rest << 15 | behind >> 17, next = more / root;
        const uint64_t left = (uint64_t)((more - root * next) << 1 | (behind >> 16 & 1)) << 16 | (behind & 0xffff);
        root = (root << 16) + next;
        if (left < (uint64_t)next * next) {
            root--;
        }
    } else {
        if (low == 0) {
            return 0;
        }
        places = (32 - mote_micro_bits(low)) & 30;
        uint32_t rest = low << places;
        root = mote_micro_root(table, &rest);
        if (places == 0) {
            return rest > root && root != 0xffff ? root + 1 : root;
        }
    }
    return ((root >> ((places / 2 - 1) & 15)) + 1) >> 1;
}

/* Channels of energies: each goes to one with its weight, and to the next with the rest. */
MOTE_HOT static inline void mote_micro_channels(const mote_micro_spectrum_t *p, const uint32_t *x, int32_t shift,
                                                uint32_t *out) {
    const uint32_t *weights = p->weights;
    uint64_t carried = 0;
    for (int32_t c = 0; c <= p->channels; c++) {
        uint64_t sum = carried;
        carried = 0;
        for (int32_t i = p->edges[c]; i < p->edges[c + 1]; i++) {
            const uint32_t energy = x[i], weight = *weights++;
            sum += (uint64_t)energy * (weight & 0xffff);
            carried += (uint64_t)energy * (weight >> 16);
        }
        if (c > 0) {
            *out++ = mote_micro_nearest_root(p->root, sum) >> shift;
        }
    }
}

static inline void mote_micro_spectrum_row(const mote_micro_spectrum_t *p, const int16_t *const *rows, uint32_t *out,
                                           uint32_t *scratch) {
    const int32_t shift = mote_micro_window(p, rows, scratch);
    const uint32_t *roots = p->roots;
    for (int32_t m = mote_micro_first(scratch, p->half, shift); m < p->half; m *= 4) {
        roots = mote_micro_stage(scratch, p->half, m, roots);
    }
    mote_micro_energies(scratch, p->half, p->last);
    mote_micro_channels(p, scratch, shift, out);
}

static inline void mote_micro_spectrum(const mote_micro_spectrum_t *p, const int16_t *in, uint32_t *out, int32_t lo,
                                       int32_t hi, uint32_t *scratch) {
    const int16_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s16(&p->rows, in, y, rows);
        mote_micro_spectrum_row(p, rows, out + y * p->rows.out_stride, scratch);
    }
}

typedef struct {
    int32_t channels, smoothing_bits;
    uint32_t even, odd, least;        /* shares of 2^14: of the signal in the noise, and of what stays of it */
    int32_t correction;               /* bits that logarithms make up for */
    int32_t pcan, shift;              /* whether there is a gain, and the bits of it that are dropped */
    int32_t log, up;                  /* whether there are logarithms, and by how many bits they are shifted left */
    const int16_t *gains;             /* three numbers for zero to two, then a parabola for each power of two */
    const int16_t *bends;             /* how far the logarithm is above its chords */
} mote_micro_features_t;

typedef mote_micro_features_t mote_micro_features_s16_t, mote_micro_features_s32_t;

static inline uint32_t mote_micro_gain(const int16_t *table, uint32_t x) {
    if (x <= 2) {
        return (uint32_t)(int32_t)table[x];
    }
    const int32_t bits = mote_micro_bits(x);
    const int16_t *const curve = table + 2 + 4 * ((bits - 2) & 31);
    const int32_t at = (int32_t)((x << ((32 - bits) & 31)) >> 21 & 0x3ff);
    const uint32_t slope = (uint32_t)((curve[2] * at) >> 5) + ((uint32_t)(int32_t)curve[1] << 5);
    return (uint32_t)(int32_t)(int16_t)(((int32_t)(slope * (uint32_t)at + (1u << 14)) >> 15) + curve[0]);
}

/* The natural logarithm of x, which is above one, in 16 fraction bits and shifted left, by way of that to the base two. */
static inline uint32_t mote_micro_log(const int16_t *bends, uint32_t x, int32_t up) {
    const int32_t whole = mote_micro_bits(x) - 1;
    const uint32_t rest = ((x << ((31 - whole) & 31)) & 0x7fffffff) >> 15;
    const int16_t *const bend = bends + (rest >> 9);
    const int32_t more = (((int32_t)bend[1] - bend[0]) * (int32_t)(rest & 511)) >> 16;
    const uint32_t log2 = ((uint32_t)whole << 16) + rest + (uint32_t)(bend[0] + more);
    const uint32_t log = (uint32_t)(((uint64_t)45426 * log2 + 32768) >> 16);
    return ((log << up) + 32768) >> 16;
}

static inline uint32_t mote_micro_feature(const mote_micro_features_t *p, uint32_t x, uint32_t share, uint32_t *noise) {
    const uint32_t wide = x << p->smoothing_bits;
    const uint32_t estimate = (uint32_t)(((uint64_t)wide * share + (uint64_t)*noise * (16384 - share)) >> 14);
    const uint32_t left = (estimate > wide ? 0 : wide - estimate) >> p->smoothing_bits;
    const uint32_t least = (uint32_t)(((uint64_t)x * p->least) >> 14);
    uint32_t y = left > least ? left : least;
    *noise = estimate;
    if (p->pcan) {
        const uint32_t snr = (uint32_t)(((uint64_t)y * mote_micro_gain(p->gains, estimate)) >> p->shift);
        y = snr < 2u << 12 ? (snr * snr) >> 20 : (snr >> 6) - 64;
    }
    if (p->log) {
        y <<= p->correction;
        y = y > 1 ? mote_micro_log(p->bends, y, p->up) : 0;
    }
    return y < 0xffff ? y : 0xffff;
}

/* n frames, the first `waiting` of which have no features. Features that fit are int16. */
#define MOTE_MICRO_FEATURES(suffix, type) \
    MOTE_HOT MOTE_UNUSED static inline void mote_micro_features_##suffix( \
        const mote_micro_features_t *p, const uint32_t *in, uint32_t *noise, int32_t *waiting, type *out, int32_t n) { \
        for (; n > 0; n--) { \
            if (*waiting > 0) { \
                *waiting -= 1; \
                memset(out, 0, (size_t)p->channels * sizeof(type)); \
                in += p->channels; \
                out += p->channels; \
                continue; \
            } \
            for (int32_t c = 0; c < p->channels; c++) { \
                *out++ = (type)mote_micro_feature(p, *in++, (c & 1) != 0 ? p->odd : p->even, noise + c); \
            } \
        } \
    }

MOTE_MICRO_FEATURES(s16, int16_t)
MOTE_MICRO_FEATURES(s32, int32_t)

#endif
