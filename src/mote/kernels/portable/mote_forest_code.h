/* mote_forest_code.h: decision trees as code of their own: a branch for each node, and what leaves add at its end. */
#ifndef MOTE_FOREST_CODE_H
#define MOTE_FOREST_CODE_H

#include "mote_forest.h"

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

/* The trees are in `code`, which reads a row of features x and writes a row of sums out. */
#define MOTE_FOREST_CODE(name, X, V, features, outputs, code) \
    typedef struct { \
        const V *values; \
    } mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const X *x, V *out, int32_t n) { \
        (void)p; \
        for (; n > 0; n--, x += features, out += outputs) { \
            code \
        } \
    }

/* The same where they read codes (see mote_forest.h), which are made in the scratch memory. */
#define MOTE_FOREST_CODED(name, X, T, C, V, KEY, NONE, most, features, outputs, slots, code) \
    typedef struct { \
        const uint16_t *slot; \
        const T *thresholds; \
        const V *values; \
    } mote_##name##_t; \
    MOTE_FOREST_CODES(name, X, T, C, uint16_t, KEY, NONE, most) \
    MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const X *in, V *out, int32_t n, \
                                               void *scratch) { \
        const C *const x = scratch; \
        for (; n > 0; n--, in += features, out += outputs) { \
            mote_##name##_codes(p->slot, slots, p->thresholds, in, scratch); \
            code \
        } \
    }

#endif
