/* mote_losses_f32.h: losses with the gradient of what they judge. The loss is a state, written over. */
#ifndef MOTE_LOSSES_F32_H
#define MOTE_LOSSES_F32_H

#include "mote_math.h"

typedef struct {
    int32_t vectors, depth; /* one label, and a logit for each class, of every vector */
    float beta;
} mote_softmax_cross_entropy_f32_t;

typedef struct {
    int32_t size;
} mote_mean_squared_error_f32_t;

/* A vector's exponentials, less the largest one, and their logarithm's sum; `out` has the shares of classes then. */
static inline float mote_log_shares_f32(const mote_softmax_cross_entropy_f32_t *p, const float *logits, int32_t label,
                                        float *out) {
    float most = p->beta * logits[0], sum = 0.0f;
    for (int32_t i = 1; i < p->depth; i++) {
        const float z = p->beta * logits[i];
        most = z > most ? z : most;
    }
    const float right = p->beta * logits[label] - most;
    for (int32_t i = 0; i < p->depth; i++) {
        const float z = p->beta * logits[i];
        out[i] = mote_expf(z - most);
        sum += out[i];
    }
    for (int32_t i = 0; i < p->depth; i++) {
        out[i] /= sum;
    }
    return mote_logf(sum) - right;
}

static inline void mote_softmax_cross_entropy_f32(const mote_softmax_cross_entropy_f32_t *p, const float *logits,
                                                  const int32_t *labels, float *loss, float *out) {
    float sum = 0.0f, share;
    int32_t count = 0;
    for (int32_t i = 0; i < p->vectors; i++) {
        count += labels[i] >= 0 && labels[i] < p->depth;
    }
    share = p->beta / (float)(count > 0 ? count : 1);
    for (int32_t i = 0; i < p->vectors; i++, logits += p->depth, out += p->depth) {
        const int32_t label = labels[i];
        if (label >= 0 && label < p->depth) {
            sum += mote_log_shares_f32(p, logits, label, out);
            out[label] -= 1.0f;
            for (int32_t k = 0; k < p->depth; k++) {
                out[k] *= share;
            }
        } else {
            for (int32_t k = 0; k < p->depth; k++) {
                out[k] = 0.0f;
            }
        }
    }
    *loss = sum / (float)(count > 0 ? count : 1);
}

static inline void mote_mean_squared_error_f32(const mote_mean_squared_error_f32_t *p, const float *in, const float *target,
                                               float *loss, float *out) {
    const float share = 2.0f / (float)p->size;
    float sum = 0.0f;
    for (int32_t i = 0; i < p->size; i++) {
        const float error = in[i] - target[i];
        sum = mote_add_product_f32(sum, error, error);
        out[i] = error * share;
    }
    *loss = sum / (float)p->size;
}

#endif
