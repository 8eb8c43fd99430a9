/* mote_wide.h: sums of up to 64 bits become int16, as LiteRT's reference does it. */
#ifndef MOTE_WIDE_H
#define MOTE_WIDE_H

#include "mote_common.h"
#include "mote_upper_s16.h"

typedef struct {
    int32_t mult, shift; /* 0 <= mult < 2^15, 8 <= shift <= 46 */
} mote_wide_t;

/* x * mult / 2^shift, halves up, in 32 bits; x has 48 bits at most. */
static inline int32_t mote_rescale_wide(int64_t x, int32_t mult, int32_t shift) {
    return (int32_t)((x * mult + ((int64_t)1 << (shift - 1))) >> shift);
}

/* The same of a sum of 32 bits, where 17 <= shift: mult is 2^16 as much, and shift 16 less. */
static inline int32_t mote_rescale_high(int32_t x, int32_t mult, int32_t shift) {
    return ((int32_t)(((int64_t)x * mult) >> 32) + ((int32_t)1 << (shift - 1))) >> shift;
}

/* The same where the low half of mult is zero. */
static inline int32_t mote_rescale_upper(int32_t x, int32_t mult, int32_t shift) {
    return (mote_upper_s16(x, mult) + ((int32_t)1 << (shift - 1))) >> shift;
}

static inline int16_t mote_clamp_s16(int32_t x, int32_t lo, int32_t hi) {
    return (int16_t)(x < lo ? lo : x > hi ? hi : x);
}

#endif
