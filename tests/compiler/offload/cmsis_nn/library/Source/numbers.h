/* Fixed-point arithmetic of the functions' documented results. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "arm_nnfunctions.h"

static inline int32_t clamp(int64_t value, int32_t low, int32_t high) {
    return value < low ? low : value > high ? high : (int32_t)value;
}

/* value * multiplier * 2^(shift - 31): rounded once (halves up) where the macro says so, else after the multiplication
 * (halves up) and after the shift to the right (halves away from zero). */
static inline int32_t requantize(int32_t value, int32_t multiplier, int32_t shift) {
#ifdef CMSIS_NN_USE_SINGLE_ROUNDING
    return (int32_t)(((int64_t)value * multiplier + (INT64_C(1) << (30 - shift))) >> (31 - shift));
#else
    const int left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    const int64_t high = ((int64_t)(int32_t)((uint32_t)value << left) * multiplier + (INT64_C(1) << 30)) >> 31;
    const int64_t half = right > 0 ? INT64_C(1) << (right - 1) : 0;
    return (int32_t)((high + half - (high < 0 && right > 0)) >> right);
#endif
}

/* Sums of 64 bits, by a multiplier of 15 bits, rounded once (halves up). */
static inline int32_t requantize_wide(int64_t value, int32_t multiplier, int32_t shift) {
    const int32_t reduced = multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff;
    return (int32_t)((value * reduced + (INT64_C(1) << (14 - shift))) >> (15 - shift));
}

#endif
