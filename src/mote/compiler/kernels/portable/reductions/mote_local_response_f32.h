/* mote_local_response_f32.h: float32 elements over a power of the squares around them, along the last axis. */
#ifndef MOTE_LOCAL_RESPONSE_F32_H
#define MOTE_LOCAL_RESPONSE_F32_H

#include "mote_pow.h"

typedef struct {
    int32_t depth, radius; /* elements of a vector, and those before one (with it one less after it) that count */
    float bias, alpha, beta;
} mote_local_response_f32_t;

static inline void mote_local_response_f32(const mote_local_response_f32_t *p, const float *in, float *out,
                                           int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth) {
        for (int32_t i = 0; i < p->depth; i++) {
            const int32_t begin = i < p->radius ? 0 : i - p->radius, end = mote_min(i + p->radius, p->depth);
            float squares = 0.0f;
            for (int32_t k = begin; k < end; k++) {
                squares += in[k] * in[k];
            }
            *out++ = in[i] * mote_powf(p->bias + p->alpha * squares, -p->beta);
        }
    }
}

#endif
