/* mote_inverse_sqrt.h: 1 / sqrt(x) in fixed point. */
#ifndef MOTE_INVERSE_SQRT_H
#define MOTE_INVERSE_SQRT_H

#include "mote_common.h"

/* 1 / sqrt(x) as multiplier and right shift, by five steps of Newton's method. */
static inline int32_t mote_inverse_sqrt(int32_t x, int32_t *shift) {
    int32_t right = 11, y = (int32_t)1 << 28;
    if (x <= 1) {
        *shift = 0;
        return 0x7fffffff;
    }
    for (; x >= (int32_t)1 << 29; x /= 4) {
        right++;
    }
    for (; x < (int32_t)1 << 27; x *= 4) {
        right--;
    }
    const int32_t half = mote_shift_right(x >> 1, 0);
    for (int32_t i = 0; i < 5; i++) {
        const int32_t cube = mote_high_mul(mote_high_mul(y, y), y);
        const int32_t limited = cube >= (int32_t)1 << 25 ? 0x7fffffff : (int32_t)((uint32_t)cube << 6);
        y = (int32_t)((uint32_t)(mote_high_mul(y, (int32_t)3 << 27) - mote_high_mul(limited, half)) << 3);
    }
    y = mote_high_mul(y, 1518500250);
    *shift = right < 0 ? 0 : right;
    return right < 0 ? (int32_t)((uint32_t)y << -right) : y;
}

#endif
