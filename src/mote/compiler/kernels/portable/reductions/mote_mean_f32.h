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

/* The means of four neighbours. */
MOTE_NOINLINE void mote_mean_f32_four(const mote_mean_f32_t *p, const float *in, float *out) {
    const mote_loop_t *a = p->averaged;
    const float count = (float)p->count;
    const int32_t step = a[2].step;
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (int32_t i = 0; i < a[0].size; i++) {
        for (int32_t j = 0; j < a[1].size; j++) {
            const float *x = in + i * a[0].step + j * a[1].step;
            for (int32_t l = a[2].size; l > 0; l--, x += step) {
                s0 += x[0];
                s1 += x[1];
                s2 += x[2];
                s3 += x[3];
            }
        }
    }
    out[0] = s0 / count;
    out[1] = s1 / count;
    out[2] = s2 / count;
    out[3] = s3 / count;
}

static inline void mote_mean_f32(const mote_mean_f32_t *p, const float *in, float *out) {
    const mote_loop_t *k = p->kept;
    for (int32_t i = 0; i < k[0].size; i++) {
        for (int32_t j = 0; j < k[1].size; j++) {
            for (int32_t l = 0; l < k[2].size; l++) {
                const float *const from = in + i * k[0].step + j * k[1].step + l * k[2].step;
                int32_t c = 0;
                for (; c + 4 <= p->inner; c += 4, out += 4) {
                    mote_mean_f32_four(p, from + c, out);
                }
                for (; c < p->inner; c++) {
                    *out++ = mote_mean_f32_one(p, from + c);
                }
            }
        }
    }
}

#endif
