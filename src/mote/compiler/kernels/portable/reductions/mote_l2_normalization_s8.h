/* mote_l2_normalization_s8.h: int8 vectors of length 1. The output's scale is 1/128, its zero point 0; it may be the
 * input. */
#ifndef MOTE_L2_NORMALIZATION_S8_H
#define MOTE_L2_NORMALIZATION_S8_H

#include "mote_inverse_sqrt.h"

typedef struct {
    int32_t depth, zero;   /* elements of a vector, the input's zero point */
    int32_t before, after; /* bits by which values are shifted left before they are scaled, and by the scale */
} mote_l2_normalization_s8_t;

static inline void mote_l2_normalization_s8(const mote_l2_normalization_s8_t *p, const int8_t *in, int8_t *out,
                                            int32_t vectors) {
    const int32_t zero = p->zero, by = p->after + 1;
    const int32_t factor = (int32_t)1 << p->before;
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        int32_t squares = 0, mult, shift;
        for (int32_t i = 0; i < p->depth; i++) {
            squares += (in[i] - zero) * (in[i] - zero);
        }
        mult = mote_inverse_sqrt(squares, &shift);
        for (int32_t i = 0; i < p->depth; i++) {
            out[i] = mote_clamp(mote_rescale((in[i] - zero) * factor, mult, shift - by), -128, 127);
        }
    }
}

#endif
