/* mote_mean_f32.h: float32 mean over any axes; the loops are those of mote_mean_s8.h. */
#ifndef MOTE_MEAN_F32_H
#define MOTE_MEAN_F32_H

#include "mote_loop.h"

typedef struct {
    int32_t inner, count;
    const mote_loop_t *kept, *averaged; /* three of each */
} mote_mean_f32_t;

static inline float mote_mean_f32_one(const mote_mean_f32_t *p, const float *in) {
    const mote_loop_t *a = p->averaged;
    float sum = 0.0f;
    for (int32_t i = 0; i < a[0].size; i++) {
        for (int32_t j = 0; j < a[1].size; j++) {
            for (int32_t l = 0; l < a[2].size; l++) {
                sum += in[i * a[0].step + j * a[1].step + l * a[2].step];
            }
        }
    }
    return sum / (float)p->count;
}

static inline void mote_mean_f32(const mote_mean_f32_t *p, const float *in, float *out) {
    const mote_loop_t *k = p->kept;
    for (int32_t i = 0; i < k[0].size; i++) {
        for (int32_t j = 0; j < k[1].size; j++) {
            for (int32_t l = 0; l < k[2].size; l++) {
                for (int32_t c = 0; c < p->inner; c++) {
                    *out++ = mote_mean_f32_one(p, in + i * k[0].step + j * k[1].step + l * k[2].step + c);
                }
            }
        }
    }
}

#endif
