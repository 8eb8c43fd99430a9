/* mote_narrow_f32.h: float32 numbers as a floating-point type with fewer bits has them. */
#ifndef MOTE_NARROW_F32_H
#define MOTE_NARROW_F32_H

#include "mote_math.h"

typedef struct {
    int32_t dropped;    /* bits of the significand that the type does not have */
    float least;        /* below this number steps stay the same; 0: float32 has the same exponents */
    float step, inverse; /* that step, and how many of them make 1 */
    float most;         /* the largest number */
    float beyond;       /* what larger ones become */
    int32_t lost;       /* they become no number at all instead */
    int32_t number;     /* everything is a number: 0 is for what is none */
} mote_narrow_f32_t;

static inline float mote_narrowed(const mote_narrow_f32_t *p, float x) {
    const float size = mote_fabsf(x);
    float y;
    if (size < p->least) {
        y = mote_rintf(size * p->inverse) * p->step;
    } else {
        const uint32_t bits = mote_bits_of(size), unit = (uint32_t)1 << p->dropped;
        y = mote_float((bits + (unit / 2 - 1) + (bits >> p->dropped & 1)) & ~(unit - 1));
    }
    if (x != x || !(y <= p->most)) {
        y = x != x && p->number ? 0.0f : x != x || p->lost ? mote_nanf() : p->beyond;
    }
    return mote_signed(y, x);
}

static inline void mote_narrow_f32(const mote_narrow_f32_t *p, const float *in, float *out, int32_t n) {
    const mote_narrow_f32_t q = *p; /* a copy cannot change under the stores to out */
    for (; n > 0; n--) {
        *out++ = mote_narrowed(&q, *in++);
    }
}

#endif
