/* mote_bits_s8.h: a bit for each of eight int8 elements in a byte, the first in bit 0: `count` bytes of them. */
#ifndef MOTE_BITS_S8_H
#define MOTE_BITS_S8_H

#include "mote_common.h"
#include "mote_bits_s8_helium.h"
#include "mote_bits_s8_dsp.h"

/* Bits that are 1 where low < element < high. */
#ifndef mote_bits_between
static inline void mote_bits_between(const int8_t *in, uint8_t *out, int32_t count, int32_t low, int32_t high) {
    for (; count > 0; count--) {
        uint32_t bits = 0;
        for (uint32_t bit = 1; bit < 256; bit <<= 1, in++) {
            bits |= *in > low && *in < high ? bit : 0;
        }
        *out++ = (uint8_t)bits;
    }
}
#endif

/* Elements where bits are 1, else 0. */
#ifndef mote_bits_keep
static inline void mote_bits_keep(const int8_t *in, const uint8_t *mask, int8_t *out, int32_t count) {
    for (; count > 0; count--, mask++) {
        for (uint32_t bit = 1; bit < 256; bit <<= 1, in++) {
            *out++ = (int8_t)(*mask & bit ? *in : 0);
        }
    }
}
#endif

#endif
