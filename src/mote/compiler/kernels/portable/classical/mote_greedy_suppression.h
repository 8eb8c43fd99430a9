/* mote_greedy_suppression.h: boxes, sorted by their scores, that none of those selected before overlaps. */
#ifndef MOTE_GREEDY_SUPPRESSION_H
#define MOTE_GREEDY_SUPPRESSION_H

#include "mote_box.h"

typedef struct {
    int32_t boxes, most;
    float share, least;
} mote_greedy_suppression_f32_t;

/* A box by its corners, whichever of them comes first. */
static inline void mote_greedy_suppression_box(const float *given, float *box) {
    for (int32_t i = 0; i < 2; i++) {
        box[i] = given[i] < given[i + 2] ? given[i] : given[i + 2];
        box[i + 2] = given[i] < given[i + 2] ? given[i + 2] : given[i];
    }
}

/* `out`: indices, zeros behind them, and how many there are. */
static inline void mote_greedy_suppression_f32(const mote_greedy_suppression_f32_t *p, const float *boxes,
                                               const float *scores, int32_t *out) {
    int32_t count = 0;
    memset(out, 0, ((size_t)p->most + 1) * sizeof(int32_t));
    for (int32_t i = 0; i < p->boxes && count < p->most && scores[i] > p->least; i++) {
        float box[4], other[4];
        int32_t hidden = 0;
        mote_greedy_suppression_box(boxes + 4 * i, box);
        for (int32_t j = 0; j < count && !hidden; j++) {
            mote_greedy_suppression_box(boxes + 4 * out[j], other);
            hidden = mote_box_overlap(other, box) > p->share;
        }
        if (!hidden) {
            out[count++] = i;
        }
    }
    out[p->most] = count;
}

#endif
