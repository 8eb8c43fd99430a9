/* mote_softmax_s8_s16.h: softmax of int8 values with int16 results, in the fixed point of mote_softmax_s8.h. */
#ifndef MOTE_SOFTMAX_S8_S16_H
#define MOTE_SOFTMAX_S8_S16_H

#include "mote_softmax_s8.h"

typedef mote_softmax_s8_t mote_softmax_s8_s16_t;

static inline void mote_softmax_s8_s16(const mote_softmax_s8_t *p, const int8_t *in, int16_t *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        int32_t max = -128, shift = 26, scale;
        uint32_t sum = 0; /* 19 bits after the point */
        for (int32_t i = 0; i < p->depth; i++) {
            max = in[i] > max ? in[i] : max;
        }
        for (int32_t i = 0; i < p->depth; i++) {
            sum += ((uint32_t)mote_softmax_exp(p, max - in[i]) + (1u << 11)) >> 12;
        }
        sum = sum < (uint32_t)1 << 19 ? (uint32_t)1 << 19 : sum; /* it is not: the largest input alone adds 2^19 */
        for (; sum < (uint32_t)1 << 31 && shift > 13; sum <<= 1) {
            shift--;
        }
        scale = mote_softmax_reciprocal(sum);
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t share = ((mote_high_mul(mote_softmax_exp(p, max - in[i]), scale) >> shift) + 1) >> 1;
            out[i] = (int16_t)((share > 65535 ? 65535 : share) - 32768);
        }
    }
}

#endif
