/* mote_upper_s16_armv6m.h: mote_upper_s16.h, which includes it, on cores with products of 32 bits. */
#ifndef MOTE_UPPER_S16_ARMV6M_H
#define MOTE_UPPER_S16_ARMV6M_H

#include "mote_compiler.h"

#if defined(__thumb__) && !defined(__thumb2__) && defined(__ARM_ARCH_PROFILE) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#if __ARM_ARCH_PROFILE == 'M'

/* The products of both halves of x. */
static inline int32_t mote_upper_s16(int32_t x, int32_t mult) {
    const int32_t m = mult >> 16;
    return (x >> 16) * m + (int32_t)(((uint32_t)x & 0xFFFF) * (uint32_t)m >> 16);
}
#define mote_upper_s16 mote_upper_s16

#endif
#endif

#endif
