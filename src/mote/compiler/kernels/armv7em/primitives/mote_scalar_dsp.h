/* mote_scalar_dsp.h: mote_scalar.h with DSP instructions. */
#ifndef MOTE_SCALAR_DSP_H
#define MOTE_SCALAR_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline int32_t mote_high_mul(int32_t x, int32_t mult) {
    /* SMMLAR adds x * twice in 64 bits to a third operand's high half and rounds. `twice` is 2 * mult modulo
     * 2^32: where that wrapped, the third operand is x and makes up for it. */
    const int32_t twice = (int32_t)((uint32_t)mult << 1);
    int32_t high;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(high) : "r"(x), "r"(twice), "r"(x & (twice >> 31)));
    return high;
}
#define mote_high_mul mote_high_mul

/* `twice` always wraps. */
static inline int32_t mote_high_mul_normal(int32_t x, int32_t mult) {
    int32_t high;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(x), "r"((int32_t)((uint32_t)mult << 1)));
    return high;
}
#define mote_high_mul_normal mote_high_mul_normal

static inline int8_t mote_saturate_s8(int32_t x) {
    int32_t r;
    __asm__("ssat %0, #8, %1" : "=r"(r) : "r"(x));
    return (int8_t)r;
}
#define mote_saturate_s8 mote_saturate_s8

static inline int32_t mote_saturate_s16(int32_t x) {
    int32_t r;
    __asm__("ssat %0, #16, %1" : "=r"(r) : "r"(x));
    return r;
}
#define mote_saturate_s16 mote_saturate_s16
#endif

#if defined(__ARM_FEATURE_CLZ) && defined(__GNUC__)
static inline int32_t mote_leading_zeros(uint32_t word) { return __builtin_clz(word); }
#define mote_leading_zeros mote_leading_zeros
#endif

#endif
