/* mote_integers.h: signs of integers, and `not` of truth values, as they are stored. Macros make the functions. */
#ifndef MOTE_INTEGERS_H
#define MOTE_INTEGERS_H

#include "mote_common.h"

/* The function whose result for x is an expression. It has no parameters, but C has no empty structs. */
#define MOTE_INTEGERS(name, type, result) \
    typedef struct { \
        int32_t unused; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const type *in, type *out, int32_t n) { \
        (void)p; \
        for (; n > 0; n--) { \
            const type x = *in++; \
            *out++ = (type)(result); \
        } \
    }

/* `word` is the unsigned type in which signs change: the least integer stays what it is. */
#define MOTE_NEG(name, type, word) MOTE_INTEGERS(name, type, 0u - (word)x)
#define MOTE_ABS(name, type, word) MOTE_INTEGERS(name, type, x < 0 ? 0u - (word)x : (word)x)
#define MOTE_SIGN(name, type, word) MOTE_INTEGERS(name, type, x > 0 ? 1 : x < 0 ? -1 : 0)
#define MOTE_NOT(name) MOTE_INTEGERS(name, uint8_t, x == 0 ? 1 : 0)

#endif
