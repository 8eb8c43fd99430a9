/* mote_bitcast.h: the bits of numbers as those of another type of the same size. */
#ifndef MOTE_BITCAST_H
#define MOTE_BITCAST_H

#include "mote_common.h"

#define MOTE_BITCAST(name, from, to) \
    typedef struct { \
        int32_t unused; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, to *out, int32_t n) { \
        (void)p; \
        for (; n > 0; n--) { \
            union { \
                from given; \
                to wanted; \
            } bits; \
            bits.given = *in++; \
            *out++ = bits.wanted; \
        } \
    }

#endif
