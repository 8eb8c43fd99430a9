/* mote_exact.h: sums times a number that is as good as a double, rounded once, as LiteRT's reference does it in double
 * precision. The compiler has compared the results at every sum at which they become more. */
#ifndef MOTE_EXACT_H
#define MOTE_EXACT_H

#include "mote_common.h"

typedef struct {
    uint32_t high, low; /* of the factor, which has 62 bits at most */
    int32_t shift;      /* less 32 */
} mote_exact_t;

/* sum * factor / 2^(shift + 32), halves away from zero, kept inside lo..hi. A sum has 40 bits at most, and 93 together
 * with the factor. */
static inline int32_t mote_rescale_exact(int64_t sum, const mote_exact_t *f, int32_t lo, int32_t hi) {
    const uint64_t size = sum < 0 ? (uint64_t)-sum : (uint64_t)sum;
    const uint32_t above = (uint32_t)(size >> 32), below = (uint32_t)size;
    uint64_t total = (uint64_t)below * f->high + (uint64_t)above * f->low + (((uint64_t)below * f->low) >> 32);
    total = (total + (((uint64_t)above * f->high) << 32) + ((uint64_t)1 << (f->shift - 1))) >> f->shift;
    if (sum < 0) {
        return total > (uint64_t)-(int64_t)lo ? lo : mote_min(-(int32_t)total, hi);
    }
    return total > (uint64_t)hi ? hi : (int32_t)total < lo ? lo : (int32_t)total;
}

#endif
