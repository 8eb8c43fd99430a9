/* mote_broadcast.h: the order in which a kernel visits two operands of which one is repeated.
 *
 * The output is written from front to back, in runs of elements that lie one after another. Inside a run
 * operand a steps too, and b steps or stays; from run to run both move as the axes say. The compiler merges
 * axes, so that a run is as long as it can be without leaving a row. */
#ifndef MOTE_BROADCAST_H
#define MOTE_BROADCAST_H

#include "mote_common.h"

#define MOTE_MAX_AXES 6

typedef struct {
    int32_t size;
    int32_t a, b; /* elements from one index to the next; 0 where the operand is repeated */
} mote_axis_t;

typedef struct {
    int32_t run;             /* elements of a run */
    int32_t b_step;          /* 1, or 0 where b stays inside a run */
    int32_t runs;            /* of a row */
    int32_t axes;            /* outside a run */
    const mote_axis_t *axis; /* innermost first */
} mote_broadcast_t;

/* Where a run begins in both operands. */
typedef struct {
    int32_t a, b;
    int32_t index[MOTE_MAX_AXES];
} mote_walk_t;

static inline mote_walk_t mote_walk_to_row(const mote_broadcast_t *p, int32_t row) {
    mote_walk_t at;
    int32_t left = row * p->runs;
    at.a = at.b = 0;
    for (int32_t i = 0; i < p->axes; i++) {
        const mote_axis_t *x = &p->axis[i];
        at.index[i] = left % x->size;
        left /= x->size;
        at.a += at.index[i] * x->a;
        at.b += at.index[i] * x->b;
    }
    return at;
}

static inline void mote_walk_on(const mote_broadcast_t *p, mote_walk_t *at) {
    for (int32_t i = 0; i < p->axes; i++) {
        const mote_axis_t *x = &p->axis[i];
        at->a += x->a;
        at->b += x->b;
        if (++at->index[i] < x->size) {
            return;
        }
        at->a -= x->size * x->a;
        at->b -= x->size * x->b;
        at->index[i] = 0;
    }
}

/* Visits the runs of output rows lo..hi-1: `at` is where a run begins in both operands, `out` in the output. */
#define MOTE_FOR_RUNS(walk, at, out, lo, hi) \
    mote_walk_t at = mote_walk_to_row(walk, lo); \
    out += lo * walk->runs * walk->run; \
    for (int32_t runs = (hi - lo) * walk->runs; runs > 0; mote_walk_on(walk, &at), runs--, out += walk->run)

#endif
