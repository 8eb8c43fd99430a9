/* mote_svdf_hybrid.h: float32 SVDF with int8 weights: see mote_svdf_f32.h. */
#ifndef MOTE_SVDF_HYBRID_H
#define MOTE_SVDF_HYBRID_H

#include "mote_dot_hybrid.h"

typedef struct {
    int32_t batch, inputs, units, rank, memory;
    float low, high;
    const int8_t *weights; /* [filter][inputs] */
    const int8_t *time;    /* [filter][memory] */
    const float *bias;     /* of each unit */
    float scale;           /* of the weights */
    float time_scale;      /* of those over time */
} mote_svdf_hybrid_t;

static inline void mote_svdf_hybrid(const mote_svdf_hybrid_t *p, const float *in, float *state, float *out) {
    const int32_t last = p->memory - 1;
    for (int32_t b = 0; b < p->batch; b++, in += p->inputs) {
        const int8_t *w = p->weights, *time = p->time;
        for (int32_t unit = 0; unit < p->units; unit++) {
            float sum = 0.0f;
            for (int32_t r = 0; r < p->rank; r++, state += p->memory, time += p->memory, w += p->inputs) {
                for (int32_t i = 0; i < last; i++) {
                    state[i] = state[i + 1];
                }
                state[last] = p->scale * mote_dot_hybrid(in, w, p->inputs);
                sum += mote_dot_hybrid(state, time, p->memory);
            }
            *out++ = mote_clamp_f32(p->bias[unit] + p->time_scale * sum, p->low, p->high);
        }
    }
}

#endif
