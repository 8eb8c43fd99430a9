/* mote_fixed_s16.h: functions of 16-bit fixed-point numbers, bit for bit as LiteRT's integer LSTM computes them.
 * "Q3.12" has 3 bits before the point and 12 after it. */
#ifndef MOTE_FIXED_S16_H
#define MOTE_FIXED_S16_H

#include "mote_common.h"

/* floor((a * b + 2^14) / 2^15) */
static inline int32_t mote_high_mul_s16(int32_t a, int32_t b) { return (a * b + (1 << 14)) >> 15; }

/* exp(x) in Q0.15 of x < 0 with `bits` bits before the point: a series around -1/8 for what is left over whole
 * quarters, times exp(-2^k) for each bit of those. */
MOTE_ALWAYS_INLINE int32_t mote_exp_s16(int32_t x, int32_t bits) {
    const int32_t quarter = (int32_t)1 << (13 - bits);
    const int32_t rest = (x & (quarter - 1)) - quarter;
    const int32_t a = rest * ((int32_t)1 << bits) + (1 << 12);
    const int32_t a2 = mote_high_mul_s16(a, a), a3 = mote_high_mul_s16(a2, a), a4 = mote_high_mul_s16(a2, a2);
    const int32_t tail = mote_high_mul_s16(((a4 + 2) >> 2) + a3, 10923) + a2;
    const int32_t quarters = (rest - x) >> (13 - bits);
    int32_t result = 28918 + mote_high_mul_s16(a + ((tail + 1) >> 1), 28918);
    result = quarters & 1 ? mote_high_mul_s16(result, 25520) : result;  /* exp(-1/4) */
    result = quarters & 2 ? mote_high_mul_s16(result, 19875) : result;  /* exp(-1/2) */
    result = quarters & 4 ? mote_high_mul_s16(result, 12055) : result;  /* exp(-1) */
    result = quarters & 8 ? mote_high_mul_s16(result, 4435) : result;   /* exp(-2) */
    result = quarters & 16 ? mote_high_mul_s16(result, 600) : result;   /* exp(-4) */
    result = quarters & 32 ? mote_high_mul_s16(result, 11) : result;    /* exp(-8) */
    return quarters < 64 ? result : 0;
}

/* 2 / (1 + x) in Q2.13 of x from 0 to 1 in Q0.15: three steps of Newton's method. No step
 * overflows, which a proof sees that looks at pieces of the range one by one. */
static inline int32_t mote_half_reciprocal_s16(int32_t x) {
    const int32_t half = (x + 32768) >> 1;
    /*@ assert pieces: half < 18432 || 18432 <= half < 20480 || 20480 <= half < 22528 || 22528 <= half < 24576 ||
          24576 <= half < 26624 || 26624 <= half < 28672 || 28672 <= half < 30720 || 30720 <= half; */
    int32_t y = 23130 + mote_high_mul_s16(half, -15420);
    for (int32_t i = 0; i < 3; i++) {
        y += mote_high_mul_s16(y, (1 << 13) - mote_high_mul_s16(half, y)) * 4;
    }
    return y;
}

/* 1 / (1 + exp(-x)) from Q3.12 to Q0.15. */
MOTE_HOT MOTE_NOINLINE int32_t mote_logistic_s16(int32_t x) {
    if (x == 0) {
        return 1 << 14;
    }
    const int32_t y = mote_saturate_s16(mote_half_reciprocal_s16(mote_exp_s16(x < 0 ? x : -x, 3)) * 2);
    return x < 0 ? 32767 - y : y;
}

/* tanh(x) in Q0.15 of x with `bits` bits before the point. */
MOTE_HOT MOTE_NOINLINE int32_t mote_tanh_s16(int32_t x, int32_t bits) {
    if (x == 0) {
        return 0;
    }
    const int32_t e = mote_exp_s16(x < 0 ? x : -x, bits + 1);
    const int32_t y = mote_saturate_s16((mote_half_reciprocal_s16(e) - (1 << 13)) * 4);
    return x < 0 ? -y : y;
}

#endif
