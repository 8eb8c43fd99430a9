/* mote_lanes_s8.h: two pixels in one word, for cores that multiply 32 bits and have no SIMD instructions.
 *
 * A word holds x0 + x1 * 2^16. Times a weight, and added up, it is s0 + s1 * 2^16 modulo 2^32: two products for one
 * multiplication. As long as both sums fit 16 bits, (word + 2^15) >> 16 is s1. So products are added up in groups that the
 * compiler proved to fit, and of each group only the high sum is taken out: with T the sum of all groups and H that of
 * their high sums, S1 = H and S0 = T - (H << 16), whatever T lost on top. */
#ifndef MOTE_LANES_S8_H
#define MOTE_LANES_S8_H

#include "mote_common.h"

#define MOTE_LANES_HALF 0x8000u

/* The high half of a product of 64 bits. */
#ifndef mote_high_word
static inline int32_t mote_high_word(int32_t x, int32_t y) { return (int32_t)(((int64_t)x * y) >> 32); }
#endif

/* How a channel's sum becomes a byte: mult is normalized, or zero where the channel is constant. */
typedef struct {
    int32_t bias, mult, add, shift;
} mote_lanes_channel_t;

/* A sum below 2^29 as a byte; `add` has the rounding and the zero point in it. See pack/requantize/high.py. */
MOTE_ALWAYS_INLINE int8_t mote_lanes_byte(int32_t sum, mote_lanes_channel_t q, int32_t lo, int32_t hi) {
    const int32_t high = mote_high_word((int32_t)((uint32_t)sum << 2), q.mult);
    const int32_t y = (int32_t)((uint32_t)high + (uint32_t)q.add) >> q.shift;
    return (int8_t)(y < lo ? lo : y > hi ? hi : y);
}

/* The same where negative results can be seen. */
MOTE_ALWAYS_INLINE int8_t mote_lanes_byte_halves(int32_t sum, mote_lanes_channel_t q, int32_t lo, int32_t hi) {
    const int32_t high = ((mote_high_word((int32_t)((uint32_t)sum << 2), q.mult)) + 1) >> 1;
    const int32_t y = (int32_t)((uint32_t)high + (uint32_t)(high >> 31) + (uint32_t)q.add) >> q.shift;
    return (int8_t)(y < lo ? lo : y > hi ? hi : y);
}

/* n elements of two pixels, as words two apart. */
static inline void mote_lanes_join(const int8_t *a, const int8_t *b, int32_t n, uint32_t *to) {
    for (; n >= 4; n -= 4, a += 4, b += 4, to += 8) {
        to[0] = (uint32_t)a[0] + ((uint32_t)b[0] << 16);
        to[2] = (uint32_t)a[1] + ((uint32_t)b[1] << 16);
        to[4] = (uint32_t)a[2] + ((uint32_t)b[2] << 16);
        to[6] = (uint32_t)a[3] + ((uint32_t)b[3] << 16);
    }
    for (; n > 0; n--, to += 2) {
        *to = (uint32_t)*a++ + ((uint32_t)*b++ << 16);
    }
}

#endif
