/* mote_softmax_s16.h: int16 softmax with tables of exponentials and of reciprocals, bit for bit as LiteRT has it.
 *
 * Fractions are integers over 2^15. The output may be the input. */
#ifndef MOTE_SOFTMAX_S16_H
#define MOTE_SOFTMAX_S16_H

#include "mote_lut_s16.h"

typedef struct {
    int32_t depth;             /* classes */
    int32_t mult, shift;       /* from steps of the input to those of the first table: see mote_rescale */
    const int16_t *exp;        /* from -10 up to 0, as the ends of lines */
    const int16_t *reciprocal; /* of 1 + x, from 0 up to 1 */
} mote_softmax_s16_t;

static inline int32_t mote_softmax_clamp_s16(int32_t x) { return x < -32768 ? -32768 : x > 32767 ? 32767 : x; }

/* What is divided by the sum of the exponentials has `right` bits more than a fraction. */
static inline int32_t mote_softmax_inverse_s16(const mote_softmax_s16_t *p, int32_t sum, int32_t *right) {
    uint32_t one = (uint32_t)(sum < 1 << 14 ? 1 << 14 : sum); /* it is more: the largest input alone adds nearly 2^15 */
    *right = 30;
    for (; one < (uint32_t)1 << 30 && *right > 14; one <<= 1) {
        *right -= 1;
    }
    return mote_interpolate_s16(p->reciprocal, mote_softmax_clamp_s16((int32_t)((one + (1u << 13)) >> 14) - 98304));
}

static inline void mote_softmax_s16(const mote_softmax_s16_t *p, const int16_t *in, int16_t *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        int32_t max = -32768, sum = 0, inverse, right;
        for (int32_t i = 0; i < p->depth; i++) {
            max = in[i] > max ? in[i] : max;
        }
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t below = mote_wrapping_add(mote_rescale(in[i] - max, p->mult, p->shift), 32767);
            out[i] = mote_interpolate_s16(p->exp, mote_softmax_clamp_s16(below));
            sum += out[i];
        }
        inverse = mote_softmax_inverse_s16(p, sum, &right);
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t share = (out[i] * inverse + ((int32_t)1 << (right - 1))) >> right;
            out[i] = (int16_t)(share < 0 ? 0 : share > 32767 ? 32767 : share);
        }
    }
}

#endif
