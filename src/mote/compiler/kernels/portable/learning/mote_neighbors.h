/* mote_neighbors.h: a memory of int8 samples with labels, and the votes of those nearest to another one.
 *
 * States may have been restored as anything: a place outside of the memory is the first one, labels that are no classes
 * are empty places. */
#ifndef MOTE_NEIGHBORS_H
#define MOTE_NEIGHBORS_H

#include "mote_common.h"

typedef struct {
    int32_t classes, capacity, size;
} mote_knn_update_t;

static inline void mote_knn_update(const mote_knn_update_t *p, const int8_t *in, const int32_t *label, int8_t *samples,
                                   int8_t *labels, int32_t *place, int32_t *seen) {
    const int32_t own = *label, at = *place >= 0 && *place < p->capacity ? *place : 0;
    int32_t count = 0;
    if (own >= 0 && own < p->classes) {
        memcpy(samples + at * p->size, in, (size_t)p->size);
        labels[at] = (int8_t)own;
        *place = at + 1 < p->capacity ? at + 1 : 0;
        for (int32_t i = 0; i < p->capacity; i++) {
            count += labels[i] == own;
        }
    }
    *seen = count;
}

typedef struct {
    int32_t classes, capacity, size, neighbors;
} mote_knn_scores_t;

/* Into a list of `count` distances and labels, the nearest first, behind those that are as near. */
static inline void mote_knn_insert(int32_t *nearest, int32_t count, int32_t distance, int32_t label) {
    int32_t *labels = nearest + count, i = count - 1;
    if (distance >= nearest[i]) {
        return;
    }
    for (; i > 0 && distance < nearest[i - 1]; i--) {
        nearest[i] = nearest[i - 1];
        labels[i] = labels[i - 1];
    }
    nearest[i] = distance;
    labels[i] = label;
}

/* Working memory: the distances of the neighbours, then their labels. */
static inline void mote_knn_scores(const mote_knn_scores_t *p, const int8_t *in, const int8_t *samples, const int8_t *labels,
                                   int32_t *out, void *scratch) {
    int32_t *nearest = (int32_t *)scratch;
    for (int32_t i = 0; i < p->neighbors; i++) {
        nearest[i] = INT32_MAX;
        nearest[p->neighbors + i] = -1;
    }
    for (int32_t k = 0; k < p->capacity; k++, samples += p->size) {
        int32_t distance = 0;
        if (labels[k] >= 0 && labels[k] < p->classes) {
            for (int32_t i = 0; i < p->size; i++) {
                const int32_t apart = in[i] - samples[i];
                distance += apart * apart;
            }
            mote_knn_insert(nearest, p->neighbors, distance, labels[k]);
        }
    }
    for (int32_t i = 0; i < p->classes; i++) {
        int32_t votes = 0;
        for (int32_t k = 0; k < p->neighbors; k++) {
            votes += nearest[p->neighbors + k] == i;
        }
        out[i] = votes;
    }
}

#endif
