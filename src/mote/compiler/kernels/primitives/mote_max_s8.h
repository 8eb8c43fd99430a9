/* mote_max_s8.h: the largest of int8 pixels, channel by channel.
 *
 * mote_max_4 takes the maxima of four neighbouring channels so far and gives them, as bytes of a word, and mote_max_16 keeps
 * those of sixteen in memory: a core has both, one or none of them. Where there is mote_max_4 there are mote_load4 and mote_min_bytes,
 * the smaller of each of four bytes. */
#ifndef MOTE_MAX_S8_H
#define MOTE_MAX_S8_H

#include "mote_common.h"

/* The maximum of `most` and n pixels, `step` elements apart, of one channel. */
static inline int32_t mote_max_1(const int8_t *x, int32_t step, int32_t n, int32_t most) {
    for (; n > 0; n--, x += step) {
        most = *x > most ? *x : most;
    }
    return most;
}

#include "mote_max_s8_dsp.h"
#include "mote_max_s8_helium.h"

#endif
