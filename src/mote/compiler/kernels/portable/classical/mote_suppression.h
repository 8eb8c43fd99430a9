/* mote_suppression.h: the boxes with the best scores, of those that overlap only the best. Scratch: four words a box. */
#ifndef MOTE_SUPPRESSION_H
#define MOTE_SUPPRESSION_H

#include "mote_box.h"
#include "mote_heap.h"
#include "mote_math.h"

typedef struct {
    int32_t boxes, most;
} mote_suppression_t;

typedef mote_suppression_t mote_suppression_v4_t, mote_suppression_v5_t;

/* A box by its corners, whichever of them comes first. */
static inline void mote_suppression_box(const float *given, float *box) {
    for (int32_t i = 0; i < 2; i++) {
        box[i] = given[i] < given[i + 2] ? given[i] : given[i + 2];
        box[i + 2] = given[i] < given[i + 2] ? given[i + 2] : given[i];
    }
}

static inline float mote_suppression_overlap(const float *boxes, int32_t a, int32_t b) {
    float one[4], other[4];
    mote_suppression_box(boxes + 4 * a, one);
    mote_suppression_box(boxes + 4 * b, other);
    return mote_box_overlap(one, other);
}

/* `out`: indices, scores, and how many there are. `sigma` 0: an overlap lowers no score. */
static inline void mote_suppression(const mote_suppression_t *p, const float *boxes, const float *scores,
                                    const float *overlap_threshold, const float *score_threshold, float sigma, float *out,
                                    void *scratch) {
    const float factor = sigma > 0.0f ? -0.5f / sigma : 0.0f;
    const float least = *score_threshold;
    float *key = (float *)scratch; /* scores below zero, so that the best one is the last of all */
    int32_t *heap = (int32_t *)(void *)(key + p->boxes);
    int32_t *seen = heap + p->boxes, *chosen = seen + p->boxes;
    int32_t queued = 0, count = 0;
    memset(heap, 0, 3 * (size_t)p->boxes * sizeof(int32_t));
    memset(out, 0, (2 * (size_t)p->most + 1) * sizeof(float));
    for (int32_t i = 0; i < p->boxes; i++) {
        key[i] = -scores[i];
        if (scores[i] > least) {
            mote_heap_lift(heap, queued++, 0, i, key);
        }
    }
    const int32_t wanted = mote_min(queued, p->most);
    while (count < wanted && queued > 0) {
        const int32_t box = mote_heap_pop(heap, queued--, key);
        const float before = -key[box];
        float now = before;
        int32_t hidden = 0;
        for (int32_t j = count - 1; j >= seen[box] && !hidden; j--) {
            const float share = mote_suppression_overlap(boxes, box, chosen[j]);
            hidden = share >= *overlap_threshold;
            if (!hidden && sigma > 0.0f) {
                now *= mote_expf(factor * share * share);
            }
            if (!hidden && now <= least) {
                break;
            }
        }
        seen[box] = count;
        if (hidden) {
            continue;
        }
        if (now == before) {
            chosen[count] = box;
            out[count] = (float)box;
            out[p->most + count] = now;
            count++;
        }
        if (now > least) {
            key[box] = -now;
            mote_heap_lift(heap, queued++, 0, box, key);
        }
    }
    out[2 * p->most] = (float)count;
}

static inline void mote_suppression_v4(const mote_suppression_t *p, const float *boxes, const float *scores,
                                       const float *overlap_threshold, const float *score_threshold, float *out,
                                       void *scratch) {
    mote_suppression(p, boxes, scores, overlap_threshold, score_threshold, 0.0f, out, scratch);
}

static inline void mote_suppression_v5(const mote_suppression_t *p, const float *boxes, const float *scores,
                                       const float *overlap_threshold, const float *score_threshold, const float *sigma,
                                       float *out, void *scratch) {
    mote_suppression(p, boxes, scores, overlap_threshold, score_threshold, *sigma, out, scratch);
}

#endif
