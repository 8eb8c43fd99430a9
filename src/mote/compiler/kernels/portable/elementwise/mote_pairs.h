/* mote_pairs.h: functions of two tensors, element by element, of which either may be repeated.
 *
 * One macro makes a kernel of what becomes of two elements, for each function and type that a model has. */
#ifndef MOTE_PAIRS_H
#define MOTE_PAIRS_H

#include "mote_broadcast.h"

typedef struct {
    mote_broadcast_t walk;
    int32_t a_step; /* 1, or 0 where a stays inside a run */
} mote_pairs_t;

typedef struct {
    int32_t unused;
} mote_nothing_t;

/* The kernels mote_NAME, of tensors of one shape, and mote_NAME_rows, made of mote_NAME_run. */
#define MOTE_PAIRS_KERNELS(name, params, one, other, to) \
    typedef params mote_##name##_t; \
    typedef struct { \
        mote_pairs_t pairs; \
        params each; \
    } mote_##name##_rows_t; \
    MOTE_UNUSED static inline void mote_##name(const params *p, const one *a, const other *b, to *out, int32_t n) { \
        mote_##name##_run(p, a, 1, b, 1, out, n); \
    } \
    MOTE_UNUSED static inline void mote_##name##_rows(const mote_##name##_rows_t *p, const one *a, const other *b, \
                                                      to *out, int32_t lo, int32_t hi) { \
        const mote_broadcast_t *walk = &p->pairs.walk; \
        MOTE_FOR_RUNS(walk, at, out, lo, hi) { \
            mote_##name##_run(&p->each, a + at.a, p->pairs.a_step, b + at.b, walk->b_step, out, walk->run); \
        } \
    }

/* `of(p, a, b)` is what becomes of elements of the types `one` and `other`, of type `to`; `p` points to parameters of
 * type `params`. */
#define MOTE_PAIRS(name, params, one, other, to, of) \
    static inline void mote_##name##_run(const params *p, const one *a, int32_t a_step, const other *b, \
                                         int32_t b_step, to *out, int32_t n) { \
        const params q = *p; /* a copy cannot change under the stores to out */ \
        (void)q; \
        for (; n > 0; n--, a += a_step, b += b_step) { \
            *out++ = (to)of(&q, *a, *b); \
        } \
    } \
    MOTE_PAIRS_KERNELS(name, params, one, other, to)

/* What needs no parameters, nor more than one expression. */
#define MOTE_MAXIMUM(p, a, b) ((a) > (b) ? (a) : (b))
#define MOTE_MINIMUM(p, a, b) ((a) < (b) ? (a) : (b))
#define MOTE_EQUAL(p, a, b) ((a) == (b))
#define MOTE_NOT_EQUAL(p, a, b) ((a) != (b))
#define MOTE_GREATER(p, a, b) ((a) > (b))
#define MOTE_GREATER_EQUAL(p, a, b) ((a) >= (b))
#define MOTE_LESS(p, a, b) ((a) < (b))
#define MOTE_LESS_EQUAL(p, a, b) ((a) <= (b))
#define MOTE_BITWISE_XOR(p, a, b) ((a) ^ (b))
#define MOTE_LOGICAL_AND(p, a, b) ((a) && (b))
#define MOTE_LOGICAL_OR(p, a, b) ((a) || (b))

typedef struct {
    int32_t most; /* the places that leave the sign */
} mote_places_t;

/* By no places where b is negative. */
MOTE_ALWAYS_INLINE int32_t mote_right_shift(const mote_places_t *p, int32_t a, int32_t b) {
    return a >> (b < 0 ? 0 : b > p->most ? p->most : b);
}

#endif
