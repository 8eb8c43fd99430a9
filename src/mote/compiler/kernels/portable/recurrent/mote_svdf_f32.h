/* mote_svdf_f32.h: float32 SVDF: see mote_svdf_s8.h. */
#ifndef MOTE_SVDF_F32_H
#define MOTE_SVDF_F32_H

#include "mote_common.h"

typedef struct {
    int32_t batch, inputs, units, rank, memory;
    float low, high;
    const float *weights; /* [filter][inputs] */
    const float *time;    /* [filter][memory] */
    const float *bias;    /* of each unit */
} mote_svdf_f32_t;

static inline void mote_svdf_f32(const mote_svdf_f32_t *p, const float *in, float *state, float *out) {
    const int32_t last = p->memory - 1;
    for (int32_t b = 0; b < p->batch; b++, in += p->inputs) {
        const float *w = p->weights, *time = p->time;
        for (int32_t unit = 0; unit < p->units; unit++) {
            float sum = p->bias[unit];
            for (int32_t r = 0; r < p->rank; r++, state += p->memory, time += p->memory) {
                float newest = 0.0f;
                for (int32_t k = 0; k < p->inputs; k++) {
                    newest += in[k] * *w++;
                }
                for (int32_t i = 0; i < last; i++) {
                    state[i] = state[i + 1];
                    sum += state[i] * time[i];
                }
                state[last] = newest;
                sum += newest * time[last];
            }
            *out++ = mote_clamp_f32(sum, p->low, p->high);
        }
    }
}

#endif
