/* mote_softmax_table_s8.h: int8 softmax as mote_softmax_s8.h computes it, with the exponentials in a table: for large
 * tensors, such as attention matrices. */
#ifndef MOTE_SOFTMAX_TABLE_S8_H
#define MOTE_SOFTMAX_TABLE_S8_H

#include "mote_softmax_s8.h"

typedef struct {
    int32_t depth;      /* classes */
    const int32_t *exp; /* of minus 0..255 steps of the input, over 2^31 */
} mote_softmax_table_s8_t;

/* No input is above the largest: differences are 0..255, as their type says for proofs. */
static inline void mote_softmax_table_s8(const mote_softmax_table_s8_t *p, const int8_t *in, int8_t *out,
                                         int32_t vectors) {
    const int32_t *const exp = p->exp;
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        int32_t max = -128, shift = 34, scale;
        uint32_t sum = 0; /* 19 bits after the point */
        for (int32_t i = 0; i < p->depth; i++) {
            max = in[i] > max ? in[i] : max;
        }
        for (int32_t i = 0; i < p->depth; i++) {
            sum += ((uint32_t)exp[(uint8_t)(max - in[i])] + (1u << 11)) >> 12;
        }
        sum = sum < (uint32_t)1 << 19 ? (uint32_t)1 << 19 : sum; /* it is not: the largest input alone adds 2^19 */
        for (; sum < (uint32_t)1 << 31; sum <<= 1) {
            shift--;
        }
        shift = mote_min(shift, 31);
        scale = mote_softmax_reciprocal(sum);
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t e = exp[(uint8_t)(max - in[i])];
            out[i] = mote_clamp((((mote_high_mul(scale, e) >> shift) + 1) >> 1) - 128, -128, 127);
        }
    }
}

#endif
