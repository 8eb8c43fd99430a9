/* mote_lstm_backward_f32.h: float32 LSTM over a sequence from its last element on. Scratch: four gates. */
#ifndef MOTE_LSTM_BACKWARD_F32_H
#define MOTE_LSTM_BACKWARD_F32_H

#include "mote_lstm_f32.h"

typedef mote_lstm_f32_t mote_lstm_backward_f32_t;

static inline void mote_lstm_backward_f32(const mote_lstm_backward_f32_t *p, const float *in, float *h, float *cell,
                                          float *out, void *scratch) {
    for (int32_t b = 0; b < p->batch; b++, h += p->outputs, cell += p->cells) {
        for (int32_t t = p->time - 1; t >= 0; t--) {
            mote_lstm_step_f32(p, in + b * p->in_batch + t * p->in_time, h, cell, (float *)scratch);
            memcpy(out + b * p->out_batch + t * p->out_time, h, (size_t)p->outputs * sizeof(float));
        }
    }
}

#endif
