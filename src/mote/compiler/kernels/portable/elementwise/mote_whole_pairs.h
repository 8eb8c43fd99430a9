/* mote_whole_pairs.h: functions of two integers of any width that stand for themselves. */
#ifndef MOTE_WHOLE_PAIRS_H
#define MOTE_WHOLE_PAIRS_H

#include "mote_pairs.h"

/* a to the power of b, by squaring; what does not fit wraps. */
static inline uint64_t mote_wrapping_power(uint64_t a, uint64_t b) {
    uint64_t y = 1;
    for (; b > 0; b >>= 1) {
        y = (b & 1) != 0 ? y * a : y;
        a *= a;
    }
    return y;
}

/* What is left when a quotient, which fits, is rounded down. */
static inline int64_t mote_modulo(int64_t a, int64_t b) {
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* The kernel of two tensors of `type`, of which `result` is made of elements x and y: an expression. It may use a and b,
 * which are the same as `word`, an unsigned type of at least 32 bits in which sums wrap. */
#define MOTE_WHOLE_PAIRS(name, type, word, to, result) \
    MOTE_ALWAYS_INLINE to mote_##name##_of(const mote_nothing_t *p, type x, type y) { \
        const word a = (word)x, b = (word)y; \
        (void)p, (void)a, (void)b; \
        return (to)(result); \
    } \
    MOTE_PAIRS(name, mote_nothing_t, type, type, to, mote_##name##_of)

#endif
