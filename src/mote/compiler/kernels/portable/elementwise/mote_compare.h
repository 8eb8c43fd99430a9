/* mote_compare.h: comparisons of quantized numbers, in fixed point with 8 places after it, as LiteRT does them. */
#ifndef MOTE_COMPARE_H
#define MOTE_COMPARE_H

#include "mote_pairs.h"

#define MOTE_COMPARE_PLACES 8

typedef struct {
    int32_t zero, mult, shift; /* to the common scale; see mote_rescale */
} mote_compared_t;

typedef struct {
    mote_compared_t a, b;
} mote_compare_t;

static inline int32_t mote_compared(const mote_compared_t *p, int32_t x) {
    return mote_rescale((x - p->zero) * (1 << MOTE_COMPARE_PLACES), p->mult, p->shift);
}

/* A comparison `of` (p, a, b) of the numbers that codes of `type` stand for. */
#define MOTE_COMPARE(name, type, of) \
    MOTE_ALWAYS_INLINE int mote_##name##_of(const mote_compare_t *p, int32_t a, int32_t b) { \
        return of(p, mote_compared(&p->a, a), mote_compared(&p->b, b)); \
    } \
    MOTE_PAIRS(name, mote_compare_t, type, type, uint8_t, mote_##name##_of)

#endif
