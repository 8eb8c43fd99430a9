/* mote_log_softmax_f32.h: the logarithms of float32 softmax. The output may be the input. */
#ifndef MOTE_LOG_SOFTMAX_F32_H
#define MOTE_LOG_SOFTMAX_F32_H

#include "mote_math.h"

typedef struct {
    int32_t depth; /* classes */
} mote_log_softmax_f32_t;

static inline void mote_log_softmax_f32(const mote_log_softmax_f32_t *p, const float *in, float *out,
                                        int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        float max = in[0], sum = 0.0f, log;
        for (int32_t i = 1; i < p->depth; i++) {
            max = in[i] > max ? in[i] : max;
        }
        for (int32_t i = 0; i < p->depth; i++) {
            sum += mote_expf(in[i] - max);
        }
        log = mote_logf(sum);
        for (int32_t i = 0; i < p->depth; i++) {
            out[i] = in[i] - max - log;
        }
    }
}

#endif
