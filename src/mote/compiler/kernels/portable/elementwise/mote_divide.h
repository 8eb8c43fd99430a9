/* mote_divide.h: quotients of quantized numbers, step by step as LiteRT computes them: the numerator, shifted as far to
 * the left as it goes, times the reciprocal of the divisor. */
#ifndef MOTE_DIVIDE_H
#define MOTE_DIVIDE_H

#include "mote_pairs.h"
#include "mote_softmax_s8.h" /* mote_softmax_reciprocal */

typedef struct {
    int32_t a_zero, b_zero;
    int32_t mult, shift; /* the quotient is multiplied by mult / 2^31 * 2^shift */
    int32_t zero, lo, hi;
} mote_divide_t;

/* Numbers up to 2^17, shifted left until bit 31 is set, and by how many places; 0 stays. */
static inline int32_t mote_divide_places(uint32_t *x) {
    int32_t places = 14;
#ifdef mote_leading_zeros
    places = *x == 0 ? 31 : mote_leading_zeros(*x);
    *x <<= places;
#else
    for (*x <<= 14; *x < (uint32_t)1 << 31 && places < 31; places++) {
        *x <<= 1;
    }
#endif
    return places;
}

/* a / b; 0 where b is. */
static inline int32_t mote_quotient(const mote_divide_t *p, int32_t a, int32_t b) {
    const int32_t x = a - p->a_zero, y = b - p->b_zero;
    uint32_t size = (uint32_t)(x < 0 ? -x : x), divisor = (uint32_t)(y < 0 ? -y : y);
    int32_t quotient = 0;
    if (size != 0 && divisor != 0) {
        const int32_t places = mote_divide_places(&size), negative = (x < 0) != (y < 0);
        const int32_t least = negative && size == (uint32_t)1 << 31; /* which negative numbers reach, one place further left */
        const int32_t right = places - 1 + least + 31 - mote_divide_places(&divisor) - p->shift;
        int32_t high = least ? INT32_MIN : negative ? -(int32_t)(size >> 1) : (int32_t)(size >> 1);
        high = mote_high_mul(mote_high_mul(high, mote_softmax_reciprocal(divisor)), p->mult);
        quotient = right > 31 ? 0 : right > 0 ? mote_shift_right(high, right - 1) : high;
    }
    quotient += p->zero;
    return quotient < p->lo ? p->lo : quotient > p->hi ? p->hi : quotient;
}

#endif
