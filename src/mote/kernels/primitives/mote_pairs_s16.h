/* mote_pairs_s16.h: two int16 numbers in a word, the first one in its low half: samples side by side, or a complex number
 * with its real part first. Sums wrap; products are rounded to 15 fraction bits, halves up. */
#ifndef MOTE_PAIRS_S16_H
#define MOTE_PAIRS_S16_H

#include "mote_common.h"

#include "mote_pairs_s16_dsp.h"

static inline int32_t mote_first_s16(uint32_t a) { return (int16_t)(a & 0xffff); }

static inline int32_t mote_second_s16(uint32_t a) { return (int16_t)(a >> 16); }

#ifndef mote_pair_s16
/* Of each number the 16 low bits. */
static inline uint32_t mote_pair_s16(int32_t first, int32_t second) {
    return ((uint32_t)first & 0xffff) | (uint32_t)second << 16;
}

/* The first number of one pair, the second one of another. */
static inline uint32_t mote_pair_joined(uint32_t a, uint32_t b) { return (a & 0xffff) | (b & 0xffff0000); }

static inline uint32_t mote_pair_load(const int16_t *x) { return mote_pair_s16(x[0], x[1]); }

static inline uint32_t mote_pair_add(uint32_t a, uint32_t b) {
    return mote_pair_s16((int32_t)(a + b), (int32_t)((a >> 16) + (b >> 16)));
}

static inline uint32_t mote_pair_sub(uint32_t a, uint32_t b) {
    return mote_pair_s16((int32_t)(a - b), (int32_t)((a >> 16) - (b >> 16)));
}

/* a - i * b, and a + i * b. */
static inline uint32_t mote_pair_sub_turned(uint32_t a, uint32_t b) {
    return mote_pair_s16((int32_t)(a + (b >> 16)), (int32_t)((a >> 16) - b));
}

static inline uint32_t mote_pair_add_turned(uint32_t a, uint32_t b) {
    return mote_pair_s16((int32_t)(a - (b >> 16)), (int32_t)((a >> 16) + b));
}

/* Half of the sum, and of the difference, rounded down. */
static inline uint32_t mote_pair_mean(uint32_t a, uint32_t b) {
    return mote_pair_s16((mote_first_s16(a) + mote_first_s16(b)) >> 1, (mote_second_s16(a) + mote_second_s16(b)) >> 1);
}

static inline uint32_t mote_pair_half_apart(uint32_t a, uint32_t b) {
    return mote_pair_s16((mote_first_s16(a) - mote_first_s16(b)) >> 1, (mote_second_s16(a) - mote_second_s16(b)) >> 1);
}

/* Absolute values; that of -32768 is itself. */
static inline uint32_t mote_pair_abs(uint32_t a) {
    const int32_t first = mote_first_s16(a), second = mote_second_s16(a);
    return mote_pair_s16(first < 0 ? -first : first, second < 0 ? -second : second);
}

/* The products of both numbers, each shifted right by 12 bits. */
static inline uint32_t mote_pair_windowed(uint32_t a, uint32_t w) {
    return mote_pair_s16((mote_first_s16(a) * mote_first_s16(w)) >> 12,
                         (mote_second_s16(a) * mote_second_s16(w)) >> 12);
}

/* Both numbers times factor / 2^15, a positive one. */
static inline uint32_t mote_pair_scaled(uint32_t a, int32_t factor) {
    return mote_pair_s16((mote_first_s16(a) * factor + 16384) >> 15, (mote_second_s16(a) * factor + 16384) >> 15);
}

/* The same after a shift to the left that leaves them in 16 bits. */
static inline uint32_t mote_pair_shifted_scaled(uint32_t a, int32_t factor, int32_t shift) {
    return mote_pair_scaled(mote_pair_s16((int32_t)(a << shift), (int32_t)((a >> 16) << shift)), factor);
}

/* The product of complex numbers that are at most half as large as 16 bits can be. */
static inline uint32_t mote_pair_product(uint32_t a, uint32_t b) {
    const int32_t ar = mote_first_s16(a), ai = mote_second_s16(a), br = mote_first_s16(b), bi = mote_second_s16(b);
    return mote_pair_s16((ar * br - ai * bi + 16384) >> 15, (ar * bi + ai * br + 16384) >> 15);
}

/* The square of the absolute value of a complex number. */
static inline uint32_t mote_pair_square(uint32_t a) {
    const int32_t r = mote_first_s16(a), i = mote_second_s16(a);
    return (uint32_t)(r * r) + (uint32_t)(i * i);
}
#endif

#endif
