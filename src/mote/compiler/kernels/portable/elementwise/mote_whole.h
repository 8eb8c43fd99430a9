/* mote_whole.h: integers that stand for themselves: sums, differences and products that wrap, quotients, powers. */
#ifndef MOTE_WHOLE_H
#define MOTE_WHOLE_H

#include "mote_pairs.h"

/* What a fused activation leaves. */
typedef struct {
    int32_t low, high;
} mote_limits_t;

MOTE_ALWAYS_INLINE int32_t mote_limit(const mote_limits_t *p, int32_t x) {
    return x < p->low ? p->low : x > p->high ? p->high : x;
}

/* The same for 64 bits, of which activations know small limits only. */
typedef struct {
    int32_t low, high;
    int32_t has_low, has_high; /* whether there is such a limit */
} mote_long_limits_t;

MOTE_ALWAYS_INLINE int64_t mote_limit_long(const mote_long_limits_t *p, int64_t x) {
    return p->has_low && x < p->low ? p->low : p->has_high && x > p->high ? p->high : x;
}

/* a op b, which wraps, and is limited then. */
#define MOTE_WHOLE(name, type, op, limits, limit) \
    MOTE_ALWAYS_INLINE type mote_##name##_of(const limits *p, type a, type b) { \
        return (type)limit(p, (type)((uint64_t)a op (uint64_t)b)); \
    } \
    MOTE_PAIRS(name, limits, type, type, type, mote_##name##_of)

/* The quotient, towards zero: 0 where b is, and the largest number in place of the one after it. */
MOTE_ALWAYS_INLINE int32_t mote_divide(const mote_limits_t *p, int32_t a, int32_t b) {
    int32_t y = 0;
    if (b > 0 || b < -1) {
        y = a / b;
    } else if (b == -1) {
        y = a == INT32_MIN ? INT32_MAX : -a;
    }
    return mote_limit(p, y);
}

/* The quotient, rounded down: 0 where b is. */
MOTE_ALWAYS_INLINE int32_t mote_floor_divide(int32_t a, int32_t b) {
    uint32_t y = b == 0 ? 0 : 0u - (uint32_t)a;
    if (b > 0 || b < -1) {
        const int32_t rest = a % b;
        y = (uint32_t)(a / b) - (rest != 0 && (rest < 0) != (b < 0));
    }
    return (int32_t)y;
}

#define MOTE_FLOOR_DIV(p, a, b) mote_floor_divide(a, b)

/* What is left then, with the sign of b. */
#define MOTE_FLOOR_MOD(name, type) \
    MOTE_ALWAYS_INLINE type mote_##name##_of(const mote_nothing_t *p, type a, type b) { \
        (void)p; \
        type y = 0; \
        if (b > 0 || b < -1) { \
            y = (type)(a % b); \
            y = y != 0 && (y < 0) != (b < 0) ? (type)((uint64_t)y + (uint64_t)b) : y; \
        } \
        return y; \
    } \
    MOTE_PAIRS(name, mote_nothing_t, type, type, type, mote_##name##_of)

/* a to the power of b, by squaring; what does not fit wraps. 0 where b is negative. */
static inline int32_t mote_whole_power(int32_t a, int32_t b) {
    uint32_t base = (uint32_t)a, y = 1;
    if (b < 0) {
        return 0;
    }
    for (uint32_t left = (uint32_t)b; left > 0; left >>= 1) {
        y = left & 1 ? y * base : y;
        base *= base;
    }
    return (int32_t)y;
}

#define MOTE_POW(p, a, b) mote_whole_power(a, b)

/* (a - b)^2, which wraps. */
static inline int32_t mote_whole_square(int32_t a, int32_t b) {
    const uint32_t difference = (uint32_t)a - (uint32_t)b;
    return (int32_t)(difference * difference);
}

#define MOTE_WHOLE_SQUARED_DIFFERENCE(p, a, b) mote_whole_square(a, b)

#endif
