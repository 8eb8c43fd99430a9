/* mote_fours_s16.h: sums of four pixels with int16 inputs, which are words by now.
 *
 * Inputs come in groups of four: the words of the first input of four pixels, of the second, the third and the fourth. The
 * weights of a group are the bytes of a word, the lowest one first. */
#ifndef MOTE_FOURS_S16_H
#define MOTE_FOURS_S16_H

#include "mote_common.h"
#include "mote_fours_s16_armv6m.h"
#include "mote_fours_s16_armv7m.h"
#include "mote_fours_s16_rv32m.h"

static inline int32_t mote_fours_s16_byte(int32_t word, int32_t i) {
    return (int8_t)(uint8_t)((uint32_t)word >> 8 * i);
}

/* Adds the products of a channel, whose weights are at w, to four sums; at least one group. */
#ifndef mote_fours_s16
MOTE_NOINLINE MOTE_HOT void mote_fours_s16(const int32_t *x, const int32_t *end, const int32_t *w, int32_t *sums) {
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3];
    for (; x != end; w++) {
        for (int32_t i = 0; i < 4; i++, x += 4) {
            const int32_t weight = mote_fours_s16_byte(*w, i);
            a = MOTE_PLUS(a, x[0] * weight);
            b = MOTE_PLUS(b, x[1] * weight);
            c = MOTE_PLUS(c, x[2] * weight);
            d = MOTE_PLUS(d, x[3] * weight);
        }
    }
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}
#endif

#endif
