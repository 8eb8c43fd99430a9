/* mote_step_size.h: the size of a step, which is only known when it is taken. */
#ifndef MOTE_STEP_SIZE_H
#define MOTE_STEP_SIZE_H

#include "mote_common.h"

/* A number with `bits` behind the point times the learning rate as (mantissa, shift), for mantissa / 2^31 * 2^shift; 0
 * where the rate is no positive number. */
static inline void mote_step_size(uint32_t by, int32_t bits, const float *rate, int32_t *out) {
    uint32_t word;
    memcpy(&word, rate, sizeof word);
    const int32_t exponent = (int32_t)(word >> 23); /* the sign, too: that of a positive number is 0 */
    uint64_t x = exponent > 0 && exponent < 0xff ? (uint64_t)by * ((word & 0x7fffff) | 0x800000) : 0;
    int32_t size = 31;
    out[0] = 0;
    out[1] = 0;
    if (x > 0) {
        for (; x >> 31 != 0; x >>= 1) {
            size++;
        }
        for (; size > 1 && x >> 30 == 0; x <<= 1) { /* x is 1 or more: this ends at size 1 */
            size--;
        }
        out[0] = (int32_t)x;
        out[1] = size + exponent - 150 - bits;
    }
}

#endif
