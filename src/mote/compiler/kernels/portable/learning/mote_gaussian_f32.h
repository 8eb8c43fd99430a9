/* mote_gaussian_f32.h: Gaussian naive Bayes, sample by sample: means, sums of squared deviations, counts of classes.
 *
 * Products and sums are separate statements, each rounded, unless the compiler may fuse them. Counts may have been restored
 * as anything. */
#ifndef MOTE_GAUSSIAN_F32_H
#define MOTE_GAUSSIAN_F32_H

#include "mote_math.h"
#include "mote_sample_f32.h"

/* `most`: samples of a class before it forgets; `kept`: the share of its squares that stay then. */
typedef struct {
    int32_t classes, size, most;
    float kept, smoothing;
} mote_gaussian_update_f32_t;

typedef struct {
    int32_t classes, size, most;
    float smoothing;
} mote_gaussian_scores_f32_t;

static inline int32_t mote_gaussian_count(int32_t count, int32_t most) {
    return count < 0 ? 0 : count > most ? most : count;
}

static inline void mote_gaussian_update_f32(const mote_gaussian_update_f32_t *p, const float *in, const int32_t *label,
                                            float *means, float *squares, float *logarithms, int32_t *counts,
                                            int32_t *seen) {
    const int32_t own = *label;
    float sum = 0.0f;
    *seen = 0;
    if (own < 0 || own >= p->classes || !mote_learnable_f32(in, p->size)) {
        return;
    }
    const int32_t before = mote_gaussian_count(counts[own], p->most), full = before == p->most;
    const float count = (float)(full ? before : before + 1);
    means += own * p->size;
    squares += own * p->size;
    for (int32_t i = 0; i < p->size; i++) {
        const float mean = before == 0 ? 0.0f : means[i], square = before == 0 ? 0.0f : squares[i];
        const float apart = in[i] - mean, after = mean + apart / count;
        const float kept = full ? square * p->kept : square, more = apart * (in[i] - after);
        means[i] = after;
        squares[i] = kept + more;
        sum += mote_logf(squares[i] / count + p->smoothing);
    }
    logarithms[own] = sum;
    counts[own] = full ? before : before + 1;
    *seen = counts[own];
}

static inline void mote_gaussian_scores_f32(const mote_gaussian_scores_f32_t *p, const float *in, const float *means,
                                            const float *squares, const float *logarithms, const int32_t *counts,
                                            float *out) {
    for (int32_t k = 0; k < p->classes; k++, means += p->size, squares += p->size) {
        const float count = (float)mote_gaussian_count(counts[k], p->most);
        float sum = logarithms[k];
        if (count < 1.0f) {
            out[k] = mote_float(0xff7fffffu); /* the least float */
            continue;
        }
        for (int32_t i = 0; i < p->size; i++) {
            const float apart = in[i] - means[i], square = apart * apart;
            sum += square / (squares[i] / count + p->smoothing);
        }
        sum *= 0.5f;
        out[k] = mote_logf(count) - sum;
    }
}

#endif
