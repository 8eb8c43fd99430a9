/* mote_upper_s16.h: products of sums and multipliers of 15 bits. */
#ifndef MOTE_UPPER_S16_H
#define MOTE_UPPER_S16_H

#include "mote_common.h"
#include "mote_upper_s16_armv6m.h"

/* floor(x * mult / 2^32), where the low half of mult is zero, and 0 <= mult. */
#ifndef mote_upper_s16
static inline int32_t mote_upper_s16(int32_t x, int32_t mult) { return (int32_t)(((int64_t)x * mult) >> 32); }
#endif

#endif
