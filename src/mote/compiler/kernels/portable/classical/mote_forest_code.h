/* mote_forest_code.h: decision trees as code of their own: a branch for each node, and what leaves add at its end. */
#ifndef MOTE_FOREST_CODE_H
#define MOTE_FOREST_CODE_H

#include "mote_forest.h"

/* Feature i of a row. */
#ifndef mote_forest_s8
static inline int32_t mote_forest_s8(const int8_t *x, uint32_t i) { return x[i]; }
static inline int32_t mote_forest_s16(const int16_t *x, uint32_t i) { return x[i]; }
#endif

/* The bits of a float32 number: of those from zero on they compare as signed integers with all, and of those below zero
 * as unsigned ones, the other way round. */
static inline uint32_t mote_forest_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline int32_t mote_forest_signed(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Whether x is at most t, given by its bits, from zero on or below it, where x may be no number: that counts as more, or
 * as less. */
static inline int mote_forest_low(float x, uint32_t t) {
    return mote_forest_signed(x) <= (int32_t)t && mote_forest_bits(x) <= 0xff800000u;
}

static inline int mote_forest_low_or_none(float x, uint32_t t) {
    return mote_forest_bits(x) - (t + 1u) > 0x7f800000u - (t + 1u);
}

static inline int mote_forest_below(float x, uint32_t t) {
    return mote_forest_bits(x) - t <= 0xff800000u - t;
}

static inline int mote_forest_below_or_none(float x, uint32_t t) {
    return mote_forest_bits(x) >= t || mote_forest_bits(x) - 0x7f800001u < 0x7fffffu;
}

/* Branches to a few places are what takes least flash, and all that there is to do. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define MOTE_FOREST_SMALL __attribute__((optimize("Os"), noinline, unused)) static
#else
#define MOTE_FOREST_SMALL MOTE_NOINLINE
#endif

/* The trees are in `code`, which reads a row of features x and writes a row of sums out. */
#define MOTE_FOREST_CODE(name, X, L, V, features, outputs, code) \
    MOTE_FOREST_LEAVES(name, L, V) \
    typedef struct { \
        mote_##name##_leaves_t of; \
    } mote_##name##_t; \
    MOTE_FOREST_SMALL void mote_##name(const mote_##name##_t *p, const X *x, V *out, int32_t n) { \
        (void)p; \
        for (; n > 0; n--, x += features, out += outputs) { \
            code \
        } \
    }

/* The same where they read codes (see mote_forest.h), which are made in the scratch memory. */
#define MOTE_FOREST_CODED(name, X, T, C, L, V, KEY, NONE, most, features, outputs, slots, code) \
    MOTE_FOREST_LEAVES(name, L, V) \
    typedef struct { \
        mote_##name##_leaves_t of; \
        const uint16_t *slot; \
        const T *thresholds; \
    } mote_##name##_t; \
    MOTE_FOREST_CODES(name, X, T, C, uint16_t, KEY, NONE, most) \
    MOTE_FOREST_SMALL void mote_##name(const mote_##name##_t *p, const X *in, V *out, int32_t n, void *scratch) { \
        for (; n > 0; n--, in += features, out += outputs) { \
            const C *const x = mote_##name##_codes(p->slot, slots, p->thresholds, in, (C *)scratch); \
            code \
        } \
    }

#endif
