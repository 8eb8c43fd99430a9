/* mote_l2_normalization_f32.h: float32 vectors of length 1. The output may be the input. */
#ifndef MOTE_L2_NORMALIZATION_F32_H
#define MOTE_L2_NORMALIZATION_F32_H

#include "mote_math.h"

typedef struct {
    int32_t depth; /* elements of a vector */
} mote_l2_normalization_f32_t;

static inline void mote_l2_normalization_f32(const mote_l2_normalization_f32_t *p, const float *in, float *out,
                                             int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        float squares = 0.0f, length;
        for (int32_t i = 0; i < p->depth; i++) {
            squares += in[i] * in[i];
        }
        length = mote_sqrtf(squares);
        length = length < 1e-6f ? 1e-6f : length;
        for (int32_t i = 0; i < p->depth; i++) {
            out[i] = in[i] / length;
        }
    }
}

#endif
