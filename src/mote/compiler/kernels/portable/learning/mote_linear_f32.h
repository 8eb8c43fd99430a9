/* mote_linear_f32.h: a linear model whose weights are learned, and a step of logistic regression.
 *
 * Weights of an output are those of its features, then its bias. Products and sums are separate statements, each rounded,
 * unless the compiler may fuse them. */
#ifndef MOTE_LINEAR_F32_H
#define MOTE_LINEAR_F32_H

#include "mote_math.h"
#include "mote_sample_f32.h"

typedef struct {
    int32_t outputs, size;
} mote_linear_scores_f32_t;

static inline float mote_linear_output_f32(const float *in, const float *weights, int32_t size) {
    float sum = weights[size];
    for (int32_t i = 0; i < size; i++) {
        const float product = weights[i] * in[i];
        sum += product;
    }
    return sum;
}

static inline void mote_linear_scores_f32(const mote_linear_scores_f32_t *p, const float *in, const float *weights,
                                          float *out) {
    for (int32_t k = 0; k < p->outputs; k++, weights += p->size + 1) {
        out[k] = mote_linear_output_f32(in, weights, p->size);
    }
}

/* `kept`: the share of weights that a step leaves, but for biases. */
typedef struct {
    int32_t outputs, size;
    float rate, kept;
} mote_logistic_update_f32_t;

/* The scores of all outputs become e to their power, less the largest; gives the sum. */
static inline float mote_logistic_shares_f32(float *scores, int32_t outputs) {
    float most = scores[0], total = 0.0f;
    for (int32_t k = 1; k < outputs; k++) {
        most = scores[k] > most ? scores[k] : most;
    }
    for (int32_t k = 0; k < outputs; k++) {
        scores[k] = mote_expf(scores[k] - most);
        total += scores[k];
    }
    return total;
}

/* Working memory: a number for each output. */
static inline void mote_logistic_update_f32(const mote_logistic_update_f32_t *p, const float *in, const int32_t *label,
                                            float *weights, int32_t *seen, void *scratch) {
    const mote_linear_scores_f32_t layer = {p->outputs, p->size};
    float *shares = (float *)scratch;
    const int32_t own = *label;
    *seen = 0;
    if (own < 0 || own >= p->outputs || !mote_learnable_f32(in, p->size)) {
        return;
    }
    mote_linear_scores_f32(&layer, in, weights, shares);
    const float total = mote_logistic_shares_f32(shares, p->outputs);
    if (!(total >= 1.0f && total <= (float)p->outputs)) {
        return;
    }
    for (int32_t k = 0; k < p->outputs; k++, weights += p->size + 1) {
        const float share = shares[k] / total, step = p->rate * (k == own ? share - 1.0f : share);
        for (int32_t i = 0; i < p->size; i++) {
            const float kept = weights[i] * p->kept, change = step * in[i];
            weights[i] = kept - change;
        }
        weights[p->size] -= step;
    }
    *seen = 1;
}

#endif
