/* mote_softmax_run_s8.h: the loops over a vector of mote_softmax_table_s8.h. `exp` is its table, `max` the largest
 * input. */
#ifndef MOTE_SOFTMAX_RUN_S8_H
#define MOTE_SOFTMAX_RUN_S8_H

#include "mote_line_s8.h"
#include "mote_softmax_run_s8_dsp.h"
#include "mote_softmax_run_s8_helium.h"

#ifndef mote_softmax_sum
/* The sum of the exponentials of n inputs, each rounded to 19 bits after the point. No input is above the largest:
 * indices are 0..255, as their type says for proofs. */
static inline uint32_t mote_softmax_sum(const int32_t *exp, int32_t max, const int8_t *x, int32_t n) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += ((uint32_t)exp[(uint8_t)(max - x[i])] + (1u << 11)) >> 12;
    }
    return sum;
}
#endif

#ifndef mote_softmax_shares
/* The products of n exponentials with a reciprocal, over 2^(32 + shift), rounded, as int8; shift: 22..31. */
static inline void mote_softmax_shares(const int32_t *exp, int32_t max, const int8_t *x, int32_t n, int32_t scale,
                                       int32_t shift, int8_t *out) {
    for (int32_t i = 0; i < n; i++) {
        const int32_t e = exp[(uint8_t)(max - x[i])];
        out[i] = mote_clamp((((mote_high_mul(scale, e) >> shift) + 1) >> 1) - 128, -128, 127);
    }
}
#endif

#endif
