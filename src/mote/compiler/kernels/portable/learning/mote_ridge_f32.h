/* mote_ridge_f32.h: ridge regression by recursive least squares.
 *
 * The inverse covariance is symmetric: its upper triangle is kept, row by row. Nothing is written before it is known that
 * the sample can be learned. */
#ifndef MOTE_RIDGE_F32_H
#define MOTE_RIDGE_F32_H

#include "mote_linear_f32.h"

/* The diagonal of the inverse stays from `least` to `most`; `grown`: 1 / forgetting. */
typedef struct {
    int32_t outputs, size;
    float forgetting, grown, least, most;
} mote_ridge_t;
typedef mote_ridge_t mote_ridge_label_f32_t, mote_ridge_target_f32_t;

/* The inverse times the features z; gives the product with z once more. */
static inline float mote_ridge_moved_f32(const float *inverse, const float *z, float *moved, int32_t n) {
    float power = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        moved[i] = 0.0f;
    }
    for (int32_t i = 0; i < n; i++, inverse += n - i + 1) {
        float sum = moved[i];
        for (int32_t k = i; k < n; k++) {
            const float product = inverse[k - i] * z[k];
            sum += product;
        }
        moved[i] = sum;
        for (int32_t k = i + 1; k < n; k++) {
            const float product = inverse[k - i] * z[i];
            moved[k] += product;
        }
    }
    for (int32_t i = 0; i < n; i++) {
        const float product = moved[i] * z[i];
        power += product;
    }
    return power;
}

/* The inverse less gains times what was moved, and divided by the forgetting factor unless it would be too large then. */
static inline void mote_ridge_shrink_f32(const mote_ridge_t *p, float *inverse, const float *moved, float share, int32_t n) {
    float *row = inverse, largest = 0.0f;
    for (int32_t i = 0; i < n; i++, row += n - i + 1) {
        const float gain = moved[i] * share;
        for (int32_t k = i; k < n; k++) {
            const float product = gain * moved[k];
            row[k - i] -= product;
        }
        row[0] = row[0] > p->least ? row[0] : p->least;
        largest = row[0] > largest ? row[0] : largest;
    }
    if (largest * p->grown <= p->most) {
        for (int32_t i = 0; i < n * (n + 1) / 2; i++) {
            inverse[i] *= p->grown;
        }
    }
}

/* `scratch`: features and the 1 behind them, what the inverse makes of them, and the error of each output; the errors hold
 * the targets before. */
static inline void mote_ridge_learn_f32(const mote_ridge_t *p, const float *in, float *weights, float *inverse, int32_t *seen,
                                        float *scratch) {
    const int32_t n = p->size + 1;
    float *z = scratch, *moved = z + n, *errors = moved + n;
    if (!mote_learnable_f32(in, p->size)) {
        return;
    }
    for (int32_t i = 0; i < p->size; i++) {
        z[i] = in[i];
    }
    z[p->size] = 1.0f;
    for (int32_t k = 0; k < p->outputs; k++) {
        errors[k] -= mote_linear_output_f32(in, weights + k * n, p->size);
    }
    const float power = mote_ridge_moved_f32(inverse, z, moved, n);
    if (!(power >= 0.0f && power <= 1125899906842624.0f) || !mote_learnable_f32(errors, p->outputs)) {
        return;
    }
    const float share = 1.0f / (p->forgetting + power);
    for (int32_t k = 0; k < p->outputs; k++) {
        for (int32_t i = 0; i < n; i++) {
            const float gain = moved[i] * share, change = errors[k] * gain;
            *weights++ += change;
        }
    }
    mote_ridge_shrink_f32(p, inverse, moved, share, n);
    *seen = 1;
}

static inline void mote_ridge_label_f32(const mote_ridge_t *p, const float *in, const int32_t *label, float *weights,
                                        float *inverse, int32_t *seen, void *scratch) {
    float *errors = (float *)scratch + 2 * (p->size + 1);
    *seen = 0;
    if (*label >= 0 && *label < p->outputs) {
        for (int32_t k = 0; k < p->outputs; k++) {
            errors[k] = k == *label ? 1.0f : 0.0f;
        }
        mote_ridge_learn_f32(p, in, weights, inverse, seen, (float *)scratch);
    }
}

static inline void mote_ridge_target_f32(const mote_ridge_t *p, const float *in, const float *target, float *weights,
                                         float *inverse, int32_t *seen, void *scratch) {
    float *errors = (float *)scratch + 2 * (p->size + 1);
    *seen = 0;
    for (int32_t k = 0; k < p->outputs; k++) {
        errors[k] = target[k];
    }
    mote_ridge_learn_f32(p, in, weights, inverse, seen, (float *)scratch);
}

#endif
