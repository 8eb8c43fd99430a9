/* mote_pairs_f32.h: functions of two real numbers. */
#ifndef MOTE_PAIRS_F32_H
#define MOTE_PAIRS_F32_H

#include "mote_angle.h"
#include "mote_double.h"
#include "mote_fmod.h"
#include "mote_pairs.h"
#include "mote_pow.h"

typedef struct {
    float low, high;
} mote_limits_f32_t;

#define MOTE_DIV_F32(p, a, b) mote_clamp_f32((a) / (b), (p)->low, (p)->high)
#define MOTE_ATAN2_F32(p, a, b) mote_atan2f(a, b)

/* In double precision, as LiteRT divides. */
#if MOTE_SHORT_DOUBLE
#define MOTE_FLOOR_DIV_F32(p, a, b) mote_floor_div_needs_a_double_of_64_bits
#else
#define MOTE_FLOOR_DIV_F32(p, a, b) mote_floor((double)(a) / (double)(b))
#endif

/* What is left then, with the sign of b. */
static inline float mote_floor_mod(float a, float b) {
    const float rest = mote_fmodf(a, b);
    return rest != 0.0f && (b < 0.0f) != (rest < 0.0f) ? rest + b : rest;
}

#define MOTE_FLOOR_MOD_F32(p, a, b) mote_floor_mod(a, b)

static inline float mote_square_of_difference(float a, float b) {
    const float difference = a - b;
    return difference * difference;
}

#define MOTE_SQUARED_DIFFERENCE_F32(p, a, b) mote_square_of_difference(a, b)

typedef struct {
    int32_t rounds; /* an exponent that is nearly a whole number from one up is taken for it */
} mote_power_t;

static inline float mote_power(const mote_power_t *p, float a, float b) {
    const float whole = mote_rintf(b);
    return mote_powf(a, p->rounds && whole >= 1.0f && mote_fabsf(b - whole) < 1e-5f ? whole : b);
}

#endif
