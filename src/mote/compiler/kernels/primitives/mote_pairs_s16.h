/* mote_pairs_s16.h: two int16 numbers, in memory a word with the first one in its low half: samples side by side, or a
 * complex number with its real part first.
 *
 * Sums may leave 16 bits: then only their low bits count, and they are fit for other sums and for memory, not for
 * products and means. Products are rounded to 15 fraction bits, halves up. */
#ifndef MOTE_PAIRS_S16_H
#define MOTE_PAIRS_S16_H

#include "mote_common.h"

#include "mote_pairs_s16_dsp.h"

#ifndef mote_pair_of
typedef struct {
    int32_t r, i;
} mote_pair_t;

static inline mote_pair_t mote_pair(int32_t r, int32_t i) {
    const mote_pair_t made = {r, i};
    return made;
}

static inline mote_pair_t mote_pair_of(uint32_t word) {
    return mote_pair((int16_t)(word & 0xffff), (int16_t)(word >> 16));
}

static inline uint32_t mote_pair_word(mote_pair_t a) { return ((uint32_t)a.r & 0xffff) | (uint32_t)a.i << 16; }

static inline mote_pair_t mote_pair_load(const int16_t *x) { return mote_pair(x[0], x[1]); }

static inline mote_pair_t mote_pair_add(mote_pair_t a, mote_pair_t b) { return mote_pair(a.r + b.r, a.i + b.i); }

static inline mote_pair_t mote_pair_sub(mote_pair_t a, mote_pair_t b) { return mote_pair(a.r - b.r, a.i - b.i); }

/* a - i * b, and a + i * b. */
static inline mote_pair_t mote_pair_sub_turned(mote_pair_t a, mote_pair_t b) { return mote_pair(a.r + b.i, a.i - b.r); }

static inline mote_pair_t mote_pair_add_turned(mote_pair_t a, mote_pair_t b) { return mote_pair(a.r - b.i, a.i + b.r); }

/* That of -32768 is itself. */
static inline mote_pair_t mote_pair_conjugate(mote_pair_t a) { return mote_pair(a.r, (int16_t)-a.i); }

/* Half of a + b, rounded down, and of the conjugate of a - b. */
static inline mote_pair_t mote_pair_mean(mote_pair_t a, mote_pair_t b) {
    return mote_pair((a.r + b.r) >> 1, (a.i + b.i) >> 1);
}

static inline mote_pair_t mote_pair_mean_apart(mote_pair_t a, mote_pair_t b) {
    return mote_pair((a.r - b.r) >> 1, (b.i - a.i) >> 1);
}

/* Bits of absolute values, in one half of a word or in both; that of -32768 is itself. */
static inline uint32_t mote_pair_sizes(mote_pair_t a) {
    return (uint32_t)(a.r < 0 ? -a.r : a.r) | (uint32_t)(a.i < 0 ? -a.i : a.i);
}

/* The products of both numbers, each shifted right by 12 bits. */
static inline mote_pair_t mote_pair_windowed(mote_pair_t a, mote_pair_t w) {
    return mote_pair((a.r * w.r) >> 12, (a.i * w.i) >> 12);
}

/* Both numbers times factor / 2^15, a positive one. */
static inline mote_pair_t mote_pair_scaled(mote_pair_t a, int32_t factor) {
    return mote_pair((a.r * factor + 16384) >> 15, (a.i * factor + 16384) >> 15);
}

/* The same after a shift to the left that leaves them in 16 bits. */
static inline mote_pair_t mote_pair_shifted_scaled(mote_pair_t a, int32_t factor, int32_t shift) {
    const uint32_t word = mote_pair_word(a);
    return mote_pair_scaled(mote_pair((int16_t)(word << shift & 0xffff), (int16_t)(word >> 16 << shift & 0xffff)), factor);
}

/* The product of complex numbers, the second of which is a root of one. */
static inline mote_pair_t mote_pair_product(mote_pair_t a, mote_pair_t b) {
    return mote_pair((a.r * b.r - a.i * b.i + 16384) >> 15, (a.r * b.i + a.i * b.r + 16384) >> 15);
}

/* The square of the absolute value of a complex number. */
static inline uint32_t mote_pair_square(mote_pair_t a) { return (uint32_t)(a.r * a.r) + (uint32_t)(a.i * a.i); }

/* Zeros where numbers are -32768. */
static inline mote_pair_t mote_pair_above_lowest(mote_pair_t a) {
    return mote_pair(a.r == INT16_MIN ? 0 : a.r, a.i == INT16_MIN ? 0 : a.i);
}
#endif

#endif
