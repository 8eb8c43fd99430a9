/* mote_fmod.h: what is left of a float32 division: see mote_math.h. */
#ifndef MOTE_FMOD_H
#define MOTE_FMOD_H

#include "mote_math.h"

/* x - y * (x / y, rounded towards zero): exact, as a division on paper is. */
static inline float mote_fmodf(float x, float y) {
    uint32_t rest, divisor;
    int32_t exponent, least;
    if (y == 0.0f || y != y || !(mote_fabsf(x) < MOTE_INFINITY)) {
        return mote_nanf();
    }
    if (mote_fabsf(x) < mote_fabsf(y)) {
        return x;
    }
    exponent = mote_parts(x, &rest);
    least = mote_parts(y, &divisor);
    for (; exponent > least; exponent--) {
        rest = (rest >= divisor ? rest - divisor : rest) << 1;
    }
    rest = rest >= divisor ? rest - divisor : rest;
    for (; rest != 0 && !(rest & 0x800000u); exponent--) {
        rest <<= 1;
    }
    if (rest != 0) {
        rest = exponent > 0 ? rest + (uint32_t)(exponent - 1) * 0x800000u : rest >> mote_min(1 - exponent, 31);
    }
    return mote_signed(mote_float(rest), x);
}

#endif
