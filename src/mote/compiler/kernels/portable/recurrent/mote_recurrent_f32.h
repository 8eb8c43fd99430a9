/* mote_recurrent_f32.h: float32 recurrent layers over sequences: what they share, and those without and with cells.
 * Working memory: the states, then what each step says. */
#ifndef MOTE_RECURRENT_F32_H
#define MOTE_RECURRENT_F32_H

#include "mote_gates_f32.h"
#include "mote_products_f32.h"

typedef struct {
    int32_t batch, time, inputs, units;
    int32_t in_batch, in_time, out_batch, out_time; /* elements from one to the next */
    int32_t backward;
    int32_t sequence, hidden, cell; /* where results begin in the output; below zero: they are not wanted */
} mote_recurrent_f32_t;

/* One more input x: the state h after it, and where it has some the cells; `work` is behind both. */
typedef void mote_recurrent_step_f32(const void *p, mote_gate_function_f32 *gate, const float *x, float *h, float *cell,
                                     float *work);

static inline void mote_recurrent_begin_f32(const float *given, int32_t n, float *state) {
    for (int32_t i = 0; i < n; i++) {
        state[i] = given == NULL ? 0.0f : given[i];
    }
}

/* All steps of all sequences. States that are not given, as NULL, begin with zeros; so do lengths: sequences are as long
 * as the tensor. Where they are shorter, their outputs end with zeros. */
MOTE_ALWAYS_INLINE void mote_recurrent_run_f32(const mote_recurrent_f32_t *p, mote_recurrent_step_f32 *step,
                                               mote_gate_function_f32 *gate, const void *cell_of, const float *in,
                                               const int32_t *lengths, const float *h0, const float *cell0, float *out,
                                               void *scratch) {
    const int32_t n = p->units;
    const size_t bytes = (size_t)n * sizeof(float);
    float *const h = (float *)scratch, *const cell = h + n, *const work = cell + n;
    for (int32_t b = 0; b < p->batch; b++) {
        const int32_t wanted = lengths == NULL ? p->time : lengths[b];
        const int32_t length = wanted < 0 ? 0 : wanted > p->time ? p->time : wanted;
        mote_recurrent_begin_f32(h0 == NULL ? NULL : h0 + b * n, n, h);
        mote_recurrent_begin_f32(cell0 == NULL ? NULL : cell0 + b * n, n, cell);
        for (int32_t i = 0; i < length; i++) {
            const int32_t t = p->backward ? length - 1 - i : i;
            step(cell_of, gate, in + b * p->in_batch + t * p->in_time, h, cell, work);
            if (p->sequence >= 0) {
                memcpy(out + p->sequence + b * p->out_batch + t * p->out_time, h, bytes);
            }
        }
        for (int32_t t = length; t < p->time && p->sequence >= 0; t++) {
            mote_recurrent_begin_f32(NULL, n, out + p->sequence + b * p->out_batch + t * p->out_time);
        }
        if (p->hidden >= 0) {
            memcpy(out + p->hidden + b * n, h, bytes);
        }
        if (p->cell >= 0) {
            memcpy(out + p->cell + b * n, cell, bytes);
        }
    }
}

/* The functions of a layer: that begins with zeros, that is given lengths and states, and that has gates of any kind. */
#define MOTE_RECURRENT_F32(name, step) \
    typedef mote_##name##_f32_t mote_##name##_given_f32_t; \
    typedef mote_##name##_f32_t mote_##name##_any_f32_t; \
    static inline void mote_##name##_f32(const mote_##name##_f32_t *p, const float *in, float *out, void *scratch) { \
        mote_recurrent_run_f32(&p->steps, step, mote_usual_gate_f32, p, in, NULL, NULL, NULL, out, scratch); \
    } \
    static inline void mote_##name##_given_f32(const mote_##name##_given_f32_t *p, const float *in, \
                                               const int32_t *lengths, const float *h0, float *out, void *scratch) { \
        mote_recurrent_run_f32(&p->steps, step, mote_usual_gate_f32, p, in, lengths, h0, NULL, out, scratch); \
    } \
    static inline void mote_##name##_any_f32(const mote_##name##_any_f32_t *p, const float *in, const int32_t *lengths, \
                                             const float *h0, float *out, void *scratch) { \
        mote_recurrent_run_f32(&p->steps, step, mote_any_gate_f32, p, in, lengths, h0, NULL, out, scratch); \
    }

#endif
