/* mote_sample_f32.h: which samples of float32 features can be learned. */
#ifndef MOTE_SAMPLE_F32_H
#define MOTE_SAMPLE_F32_H

#include "mote_common.h"

/* Whether no feature is above 2^50, below -2^50, or no number. */
static inline int32_t mote_learnable_f32(const float *in, int32_t size) {
    int32_t i = 0;
    while (i < size && in[i] >= -1125899906842624.0f && in[i] <= 1125899906842624.0f) {
        i++;
    }
    return i == size;
}

#endif
