/* mote_prototypes.h: nearest class means over int8 features: sums and counts of samples, distances to their means, and the
 * cosines of the angles between.
 *
 * States may have been restored as anything: counts are brought into 0..most, sums into what as many int8 values give. */
#ifndef MOTE_PROTOTYPES_H
#define MOTE_PROTOTYPES_H

#include "mote_common.h"

/* `most`, at most 2^22: samples of a class before its sums and its count are halved. */
typedef struct {
    int32_t classes, size, most;
} mote_prototypes_t;
typedef mote_prototypes_t mote_prototype_update_t, mote_prototype_scores_t;

/* `zero`: the code of 0. */
typedef struct {
    int32_t classes, size, most, zero;
} mote_prototype_cosines_t;

static inline int32_t mote_prototype_within(int32_t x, int32_t lo, int32_t hi) { return x < lo ? lo : x > hi ? hi : x; }

static inline void mote_prototype_update(const mote_prototypes_t *p, const int8_t *in, const int32_t *label, int32_t *sums,
                                         int32_t *counts, int32_t *seen) {
    const int32_t place = *label;
    *seen = 0;
    if (place < 0 || place >= p->classes) {
        return;
    }
    const int32_t count = mote_prototype_within(counts[place], 0, p->most), full = count == p->most;
    sums += place * p->size;
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t sum = mote_prototype_within(sums[i], -128 * count, 127 * count);
        sums[i] = (full ? sum / 2 : sum) + in[i];
    }
    *seen = (full ? count / 2 : count) + 1;
    counts[place] = *seen;
}

/* The mean of `count` samples, halves up. Sums beyond 128 times the most samples give an end of the range, as all too
 * large ones do. */
static inline int32_t mote_prototype_mean(int32_t sum, int32_t count) {
    const int32_t most = (int32_t)1 << 29, twice = 2 * mote_prototype_within(sum, -most, most) + count;
    const int32_t mean = (twice - (twice < 0 ? 2 * count - 1 : 0)) / (2 * count);
    return mote_prototype_within(mean, -128, 127);
}

static inline int32_t mote_prototype_distance(const int8_t *in, const int32_t *sums, int32_t count, int32_t size) {
    int32_t distance = 0;
    for (int32_t i = 0; i < size; i++) {
        const int32_t apart = in[i] - mote_prototype_mean(sums[i], count);
        distance += apart * apart;
    }
    return distance;
}

static inline void mote_prototype_scores(const mote_prototypes_t *p, const int8_t *in, const int32_t *sums,
                                         const int32_t *counts, int32_t *out) {
    for (int32_t k = 0; k < p->classes; k++, sums += p->size) {
        const int32_t count = mote_prototype_within(counts[k], 0, p->most);
        out[k] = count == 0 ? INT32_MIN : -mote_prototype_distance(in, sums, count, p->size);
    }
}

/* The whole part of a square root, which is below 2^31. */
static inline int64_t mote_prototype_root(int64_t x) {
    int64_t root = 0;
    for (int32_t bit = 30; bit >= 0; bit--) {
        const int64_t larger = root + ((int64_t)1 << bit);
        root = larger * larger <= x ? larger : root;
    }
    return root;
}

static inline int32_t mote_prototype_cosine(const mote_prototype_cosines_t *p, const int8_t *in, const int32_t *sums,
                                            int32_t count) {
    int32_t product = 0, own = 0, other = 0; /* each below 2^31: 32768 * 255 * 255 */
    for (int32_t i = 0; i < p->size; i++) {
        const int32_t x = in[i] - p->zero, mean = mote_prototype_mean(sums[i], count) - p->zero;
        product += x * mean;
        own += x * x;
        other += mean * mean;
    }
    const int64_t lengths = mote_prototype_root((int64_t)own * other);
    if (lengths == 0) {
        return 0;
    }
    const int64_t above = (int64_t)product * 32768 + lengths / 2;
    const int64_t cosine = (above - (above < 0 ? lengths - 1 : 0)) / lengths;
    return cosine < -32768 ? -32768 : cosine > 32768 ? 32768 : (int32_t)cosine;
}

static inline void mote_prototype_cosines(const mote_prototype_cosines_t *p, const int8_t *in, const int32_t *sums,
                                          const int32_t *counts, int32_t *out) {
    for (int32_t k = 0; k < p->classes; k++, sums += p->size) {
        const int32_t count = mote_prototype_within(counts[k], 0, p->most);
        out[k] = count == 0 ? INT32_MIN : mote_prototype_cosine(p, in, sums, count);
    }
}

#endif
