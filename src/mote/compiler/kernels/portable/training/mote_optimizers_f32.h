/* mote_optimizers_f32.h: the steps of optimizers, which write weights and moments over in place.
 *
 * Every product is rounded before it is added, so that all cores and the reference give the same bits. */
#ifndef MOTE_OPTIMIZERS_F32_H
#define MOTE_OPTIMIZERS_F32_H

#include "mote_math.h"
#include "mote_step_rounding.h"

/* Gradients of `every` inferences make a step. */
typedef struct {
    int32_t size, every;
} mote_accumulate_gradient_f32_t;

typedef struct {
    int32_t size, every;
    float momentum, decay;
} mote_sgd_t;
typedef mote_sgd_t mote_sgd_f32_t, mote_sgd_mean_f32_t, mote_momentum_f32_t, mote_momentum_mean_f32_t;

typedef struct {
    int32_t size, every;
    float beta1, beta2, epsilon, decay;
} mote_adam_8bit_f32_t;

static inline void mote_accumulate_gradient_f32(const mote_accumulate_gradient_f32_t *p, const float *gradient,
                                                const int32_t *step, float *total) {
    const int32_t first = (uint32_t)*step % (uint32_t)p->every == 0;
    for (int32_t i = 0; i < p->size; i++) {
        total[i] = first ? gradient[i] : total[i] + gradient[i];
    }
}

/* The number of the step that an inference makes, from 1; 0 where it makes none. */
static inline uint32_t mote_step_number(int32_t step, int32_t every) {
    const uint32_t number = (uint32_t)step + 1;
    return number % (uint32_t)every == 0 ? number / (uint32_t)every : 0;
}

/* `moments` is NULL where there is no momentum. */
static inline void mote_sgd_step_f32(const mote_sgd_t *p, const float *gradient, float rate, float *moments,
                                     float *weights) {
    for (int32_t i = 0; i < p->size; i++) {
        float step = gradient[i] / (float)p->every;
        if (p->decay != 0.0f) {
            step += mote_product_f32(p->decay, weights[i]);
        }
        if (moments != NULL) {
            step += mote_product_f32(p->momentum, moments[i]);
            moments[i] = step;
        }
        weights[i] -= mote_product_f32(rate, step);
    }
}

static inline void mote_sgd_f32(const mote_sgd_t *p, const float *gradient, const float *rate, float *weights) {
    mote_sgd_step_f32(p, gradient, *rate, NULL, weights);
}

static inline void mote_sgd_mean_f32(const mote_sgd_t *p, const float *gradient, const float *rate, const int32_t *step,
                                     float *weights) {
    if (mote_step_number(*step, p->every) != 0) {
        mote_sgd_step_f32(p, gradient, *rate, NULL, weights);
    }
}

static inline void mote_momentum_f32(const mote_sgd_t *p, const float *gradient, const float *rate, float *moments,
                                     float *weights) {
    mote_sgd_step_f32(p, gradient, *rate, moments, weights);
}

static inline void mote_momentum_mean_f32(const mote_sgd_t *p, const float *gradient, const float *rate,
                                          const int32_t *step, float *moments, float *weights) {
    if (mote_step_number(*step, p->every) != 0) {
        mote_sgd_step_f32(p, gradient, *rate, moments, weights);
    }
}

#define MOTE_MOMENTS 64 /* so many have a scale in common */

/* A power, from the lowest bit of the exponent up. */
static inline float mote_power_f32(float base, uint32_t exponent) {
    float result = 1.0f;
    for (; exponent != 0; exponent >>= 1) {
        result = exponent & 1 ? mote_product_f32(result, base) : result;
        base = mote_product_f32(base, base);
    }
    return result;
}

/* A number from 0 to below 1 for an element of a step. */
static inline float mote_uniform_f32(uint32_t step, uint32_t element) {
    return (float)(mote_step_noise(mote_step_seed((int32_t)step, 0), (int32_t)element) >> 8) * (1.0f / 16777216.0f);
}

/* The code of a size over its block's scale, up to `largest`: one more than the root where `noise` says so. */
static inline int32_t mote_moment_code(float size, float scale, float largest, float noise) {
    const float q = size / (scale > 0.0f ? scale : 1.0f), low = mote_floorf(mote_sqrtf(q));
    const float square = mote_product_f32(low, low), code = noise < (q - square) / (2.0f * low + 1.0f) ? low + 1.0f : low;
    return code >= 0.0f ? (int32_t)(code < largest ? code : largest) : 0;
}

/* Numbers that the elements of a step have in common. */
typedef struct {
    uint32_t number;
    float rate, root, kept; /* rate and root are corrected for moments that began at zero */
} mote_adam_t;

/* A block of n elements from `first` on. `mean` and `root` have room for their moments. */
static inline void mote_adam_block_f32(const mote_adam_8bit_f32_t *p, const mote_adam_t *a, const float *gradient,
                                       int32_t first, int32_t n, int8_t *means, float *mean_scale, uint8_t *roots,
                                       float *root_scale, float *weights, float *mean, float *root) {
    float most_mean = 0.0f, most_root = 0.0f;
    for (int32_t i = 0; i < n; i++) {
        const float g = gradient[i] / (float)p->every, code = (float)means[i], square = (float)roots[i];
        const float before = mote_product_f32(code * mote_fabsf(code), *mean_scale);
        const float deviation = mote_product_f32(square * square, *root_scale);
        const float kept = mote_product_f32(p->beta2, mote_product_f32(deviation, deviation));
        mean[i] = mote_product_f32(p->beta1, before) + mote_product_f32(1.0f - p->beta1, g);
        root[i] = mote_sqrtf(kept + mote_product_f32(1.0f - p->beta2, mote_product_f32(g, g)));
        const float divisor = root[i] / a->root + p->epsilon;
        weights[i] = mote_product_f32(weights[i], a->kept) - mote_product_f32(a->rate, mean[i] / divisor);
        most_mean = mote_fabsf(mean[i]) > most_mean ? mote_fabsf(mean[i]) : most_mean;
        most_root = root[i] > most_root ? root[i] : most_root;
    }
    *mean_scale = most_mean / 16129.0f;
    *root_scale = most_root / 65025.0f;
    for (int32_t i = 0; i < n; i++) {
        const uint32_t element = (uint32_t)first + (uint32_t)i, size = (uint32_t)p->size;
        const float noise = mote_uniform_f32(a->number, element), other = mote_uniform_f32(a->number, size + element);
        const int32_t code = mote_moment_code(mote_fabsf(mean[i]), *mean_scale, 127.0f, noise);
        const int32_t square = mote_moment_code(root[i], *root_scale, 255.0f, other);
        means[i] = (int8_t)(mean[i] < 0.0f ? -code : code);
        roots[i] = (uint8_t)(square == 0 && root[i] > 0.0f ? 1 : square);
    }
}

static inline void mote_adam_8bit_f32(const mote_adam_8bit_f32_t *p, const float *gradient, const float *rate,
                                      const int32_t *step, int8_t *means, float *mean_scales, uint8_t *roots,
                                      float *root_scales, float *weights, void *scratch) {
    mote_adam_t a;
    float *mean = (float *)scratch;
    a.number = mote_step_number(*step, p->every);
    if (a.number == 0) {
        return;
    }
    a.rate = *rate / (1.0f - mote_power_f32(p->beta1, a.number));
    a.root = mote_sqrtf(1.0f - mote_power_f32(p->beta2, a.number));
    a.kept = 1.0f - mote_product_f32(*rate, p->decay);
    for (int32_t at = 0; at < p->size; at += MOTE_MOMENTS) {
        mote_adam_block_f32(p, &a, gradient + at, at, mote_min(MOTE_MOMENTS, p->size - at), means + at, mean_scales++,
                            roots + at, root_scales++, weights + at, mean, mean + MOTE_MOMENTS);
    }
}

#endif
