/* mote_pairs_s16_dsp.h: mote_pairs_s16.h with DSP instructions. */
#ifndef MOTE_PAIRS_S16_DSP_H
#define MOTE_PAIRS_S16_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !MOTE_WORDS_ALIGNED
typedef uint32_t mote_pair_t;

static inline mote_pair_t mote_pair_of(uint32_t word) { return word; }
#define mote_pair_of mote_pair_of

static inline uint32_t mote_pair_word(mote_pair_t a) { return a; }

static inline mote_pair_t mote_pair_load(const int16_t *x) { return mote_load4((const int8_t *)x); }

#define MOTE_PAIR_S16(name, instruction) \
    static inline mote_pair_t mote_pair_##name(mote_pair_t a, mote_pair_t b) { \
        mote_pair_t r; \
        __asm__(instruction " %0, %1, %2" : "=r"(r) : "r"(a), "r"(b)); \
        return r; \
    }

MOTE_PAIR_S16(add, "sadd16")
MOTE_PAIR_S16(sub, "ssub16")
MOTE_PAIR_S16(sub_turned, "ssax")
MOTE_PAIR_S16(add_turned, "sasx")
MOTE_PAIR_S16(mean, "shadd16")
MOTE_PAIR_S16(half_apart, "shsub16")
MOTE_PAIR_S16(joined, "pkhbt") /* the first number of one, the second one of the other */

static inline mote_pair_t mote_pair_conjugate(mote_pair_t a) { return mote_pair_joined(a, mote_pair_sub(0, a)); }

static inline mote_pair_t mote_pair_mean_apart(mote_pair_t a, mote_pair_t b) {
    return mote_pair_joined(mote_pair_half_apart(a, b), mote_pair_half_apart(b, a));
}

static inline uint32_t mote_pair_sizes(mote_pair_t a) {
    uint32_t r;
    __asm__("ssub16 %0, %2, %1\n\tsel %0, %0, %1" : "=&r"(r) : "r"(a), "r"(0) : "cc");
    return r;
}

static inline mote_pair_t mote_pair_windowed(mote_pair_t a, mote_pair_t w) {
    int32_t first, second;
    mote_pair_t r;
    __asm__("smulbb %0, %1, %2" : "=r"(first) : "r"(a), "r"(w));
    __asm__("smultt %0, %1, %2" : "=r"(second) : "r"(a), "r"(w));
    __asm__("pkhbt %0, %1, %2, lsl #4" : "=r"(r) : "r"(first >> 12), "r"(second));
    return r;
}

/* The numbers of which these are 2^15 times as much. */
static inline mote_pair_t mote_pair_of_products(int32_t first, int32_t second) {
    mote_pair_t r;
    __asm__("pkhbt %0, %1, %2, lsl #1" : "=r"(r) : "r"(first >> 15), "r"(second));
    return r;
}

static inline mote_pair_t mote_pair_scaled(mote_pair_t a, int32_t factor) {
    int32_t first, second;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(first) : "r"(a), "r"(factor), "r"(16384));
    __asm__("smlatb %0, %1, %2, %3" : "=r"(second) : "r"(a), "r"(factor), "r"(16384));
    return mote_pair_of_products(first, second);
}

/* The rounded high half of a product with what is in the high half of a word. */
static inline mote_pair_t mote_pair_shifted_scaled(mote_pair_t a, int32_t factor, int32_t shift) {
    const int32_t twice = factor << (shift + 1);
    int32_t first, second;
    mote_pair_t r;
    __asm__("smmulr %0, %1, %2" : "=r"(first) : "r"(a << 16), "r"(twice));
    __asm__("smmulr %0, %1, %2" : "=r"(second) : "r"(a & 0xffff0000), "r"(twice));
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(r) : "r"(first), "r"(second));
    return r;
}

static inline mote_pair_t mote_pair_product(mote_pair_t a, mote_pair_t b) {
    int32_t r, i;
    __asm__("smlsd %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(16384));
    __asm__("smladx %0, %1, %2, %3" : "=r"(i) : "r"(a), "r"(b), "r"(16384));
    return mote_pair_of_products(r, i);
}

static inline uint32_t mote_pair_square(mote_pair_t a) {
    uint32_t r;
    __asm__("smuad %0, %1, %1" : "=r"(r) : "r"(a));
    return r;
}

static inline mote_pair_t mote_pair_above_lowest(mote_pair_t a) {
    return (a >> 16 == 0x8000 ? 0 : a & 0xffff0000) | ((a & 0xffff) == 0x8000 ? 0 : a & 0xffff);
}
#endif

#endif
