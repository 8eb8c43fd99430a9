/* mote_rnn_f32.h: float32 layers over a sequence that see their last output. */
#ifndef MOTE_RNN_F32_H
#define MOTE_RNN_F32_H

#include "mote_unary_f32.h"

typedef struct {
    int32_t batch, time, inputs, units;
    int32_t in_batch, in_time, out_batch, out_time; /* elements from one to the next */
    int32_t backward, tanh;
    float low, high; /* the range of outputs, before tanh */
    const float *weights, *recurrent, *bias;
} mote_rnn_f32_t;

/* One more input x: the output from it and the last one, h. */
static inline void mote_rnn_step_f32(const mote_rnn_f32_t *p, const float *x, const float *h, float *out) {
    const float *w = p->weights, *r = p->recurrent;
    for (int32_t u = 0; u < p->units; u++) {
        float sum = p->bias[u];
        for (int32_t i = 0; i < p->inputs; i++) {
            sum += x[i] * *w++;
        }
        for (int32_t i = 0; i < p->units; i++) {
            sum += h[i] * *r++;
        }
        out[u] = mote_clamp_f32(sum, p->low, p->high);
    }
    if (p->tanh) {
        mote_tanh_f32(NULL, out, out, p->units);
    }
}

static inline void mote_rnn_f32(const mote_rnn_f32_t *p, const float *in, float *h, float *out) {
    for (int32_t b = 0; b < p->batch; b++, h += p->units) {
        for (int32_t i = 0; i < p->time; i++) {
            const int32_t t = p->backward ? p->time - 1 - i : i;
            float *y = out + b * p->out_batch + t * p->out_time;
            mote_rnn_step_f32(p, in + b * p->in_batch + t * p->in_time, h, y);
            memcpy(h, y, (size_t)p->units * sizeof(float));
        }
    }
}

#endif
