/* mote_float.h: the bits of float32 numbers, and the functions of them that a core has, mote_expf and its like. The portable
 * ones are in mote_math.h. */
#ifndef MOTE_FLOAT_H
#define MOTE_FLOAT_H

#include "mote_compiler.h"

/* The bits of a float, and the float of some bits. */
typedef union {
    float value;
    uint32_t bits;
} mote_float_t;

#define MOTE_SIGN_BIT 0x80000000u

static inline uint32_t mote_bits_of(float x) {
    const mote_float_t it = {x};
    return it.bits;
}

static inline float mote_float(uint32_t bits) {
    mote_float_t it;
    it.bits = bits;
    return it.value;
}

static inline float mote_fabsf(float x) { return mote_float(mote_bits_of(x) & ~MOTE_SIGN_BIT); }

/* x, which is not negative, with the sign of another number. */
static inline float mote_signed(float x, float sign) {
    return mote_float(mote_bits_of(x) | (mote_bits_of(sign) & MOTE_SIGN_BIT));
}

static inline float mote_nanf(void) { return mote_float(0x7fc00000u); }

#include "mote_float_soft.h"

#endif
