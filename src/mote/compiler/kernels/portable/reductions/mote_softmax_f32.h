/* mote_softmax_f32.h: float32 softmax. */
#ifndef MOTE_SOFTMAX_F32_H
#define MOTE_SOFTMAX_F32_H

#include "mote_math.h"

typedef struct {
    int32_t depth; /* classes */
    float beta;
} mote_softmax_f32_t;

static inline void mote_softmax_f32(const mote_softmax_f32_t *p, const float *in, float *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        float max = in[0], sum = 0.0f;
        for (int32_t i = 1; i < p->depth; i++) {
            max = in[i] > max ? in[i] : max;
        }
        for (int32_t i = 0; i < p->depth; i++) {
            out[i] = mote_expf((in[i] - max) * p->beta);
            sum += out[i];
        }
        const float share = 1.0f / sum; /* from 1 / depth to 1 */
        for (int32_t i = 0; i < p->depth; i++) {
            out[i] *= share;
        }
    }
}

#endif
