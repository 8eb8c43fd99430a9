/* mote_softmax_even_s8.h: int8 softmax as ONNX Runtime computes it: exponentials from a table in single precision, added
 * up one after another; a share is rounded to even. */
#ifndef MOTE_SOFTMAX_EVEN_S8_H
#define MOTE_SOFTMAX_EVEN_S8_H

#include "mote_even_real.h"

typedef struct {
    int32_t depth, zero;
    float factor;     /* steps of the output in one */
    const float *exp; /* of how far values are below the largest one, from 255 steps up to none */
} mote_softmax_even_s8_t;

static inline void mote_softmax_even_s8(const mote_softmax_even_s8_t *p, const int8_t *in, int8_t *out,
                                        int32_t vectors) {
    const int32_t depth = p->depth;
    for (; vectors > 0; vectors--, in += depth, out += depth) {
        int32_t most = -128;
        for (int32_t i = 0; i < depth; i++) {
            most = in[i] > most ? in[i] : most;
        }
        const int32_t below = 255 - most;
        float sum = 0.0f;
        for (int32_t i = 0; i < depth; i++) {
            sum += p->exp[(below + in[i]) & 255];
        }
        for (int32_t i = 0; i < depth; i++) {
            const float exp = p->exp[(below + in[i]) & 255];
            out[i] = mote_clamp(mote_round_even(exp * p->factor / sum, 1024.0f) + p->zero, -128, 127);
        }
    }
}

#endif
