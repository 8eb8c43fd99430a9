/* mote_arg.h: where along an axis the first of the largest or of the least elements is.
 *
 * What is no number is passed over; where there is nothing else, the first element is taken. */
#ifndef MOTE_ARG_H
#define MOTE_ARG_H

#include "mote_running_sums.h"

/* `count` elements for each index, `inner` indices side by side. */
typedef struct {
    int32_t count, inner;
} mote_arg_t;

/* The same in a row, which has `lines` of them; an image has `rows`. */
typedef struct {
    mote_arg_t over;
    int32_t lines, rows;
} mote_arg_add_t;

#define MOTE_ARG_ABOVE(value, best) ((value) > (best))
#define MOTE_ARG_BELOW(value, best) ((value) < (best))
#define MOTE_ARG_ABOVE_F32(value, best) ((value) > (best) || ((best) != (best) && (value) == (value)))
#define MOTE_ARG_BELOW_F32(value, best) ((value) < (best) || ((best) != (best) && (value) == (value)))

/* `T` is the type of the elements, `O` that of the indices, `BETTER` whether a value beats the best one so far. */
#define MOTE_ARG_ONE(name, T, BETTER) \
    static inline int32_t mote_##name##_one(const mote_arg_t *o, const T *x) { \
        int32_t at = 0; \
        T best = *x; \
        for (int32_t n = 1; n < o->count; n++) { \
            x += o->inner; \
            if (BETTER(*x, best)) { \
                best = *x; \
                at = n; \
            } \
        } \
        return at; \
    }

#define MOTE_ARG(name, T, O, BETTER) \
    typedef mote_arg_t mote_##name##_t; \
    MOTE_ARG_ONE(name, T, BETTER) \
    MOTE_UNUSED static inline void mote_##name(const mote_arg_t *p, const T *in, O *out, int32_t units) { \
        for (; units > 0; units--, in += p->count * p->inner) { \
            for (int32_t c = 0; c < p->inner; c++) { \
                *out++ = mote_##name##_one(p, in + c); \
            } \
        } \
    }

/* One row of the input at a time, which has indices of its own. They are kept where the sums are, byte by byte. */
#define MOTE_ARG_ADD(name, T, O, BETTER) \
    typedef mote_arg_add_t mote_##name##_t; \
    MOTE_ARG_ONE(name, T, BETTER) \
    MOTE_UNUSED static inline void mote_##name(const mote_arg_add_t *p, const T *row, int32_t tap, int32_t part, \
                                               void *sums, O *out) { \
        const mote_arg_t *o = &p->over; \
        const size_t bytes = (size_t)(p->lines * o->inner) * sizeof(O); \
        uint8_t *to = (uint8_t *)sums + (size_t)tap * bytes; \
        for (int32_t i = 0; i < p->lines; i++, row += o->count * o->inner) { \
            for (int32_t c = 0; c < o->inner; c++, to += sizeof(O)) { \
                const O at = mote_##name##_one(o, row + c); \
                memcpy(to, &at, sizeof at); \
            } \
        } \
        if (part & MOTE_LAST) { \
            memmove(out, sums, (size_t)p->rows * bytes); \
        } \
    }

#endif
