/* mote_select.h: elements of one tensor where a condition holds, of another one where it does not; each of the three
 * may be repeated. The output is written in runs, as mote_broadcast.h says. */
#ifndef MOTE_SELECT_H
#define MOTE_SELECT_H

#include "mote_common.h"

#define MOTE_SELECT_AXES 6

typedef struct {
    int32_t size;
    int32_t c, x, y; /* elements from one index to the next, of the condition and of both others */
} mote_select_axis_t;

typedef struct {
    int32_t run, runs; /* elements of a run, runs of a row */
    int32_t c_step, x_step, y_step;
    int32_t axes;
    const mote_select_axis_t *axis; /* innermost first */
} mote_select_t;

typedef struct {
    int32_t c, x, y;
    int32_t index[MOTE_SELECT_AXES];
} mote_select_walk_t;

static inline mote_select_walk_t mote_select_to_row(const mote_select_t *p, int32_t row) {
    mote_select_walk_t at;
    int32_t left = row * p->runs;
    at.c = at.x = at.y = 0;
    for (int32_t i = 0; i < p->axes; i++) {
        const mote_select_axis_t *axis = &p->axis[i];
        at.index[i] = left % axis->size;
        left /= axis->size;
        at.c += at.index[i] * axis->c;
        at.x += at.index[i] * axis->x;
        at.y += at.index[i] * axis->y;
    }
    return at;
}

static inline void mote_select_on(const mote_select_t *p, mote_select_walk_t *at) {
    for (int32_t i = 0; i < p->axes; i++) {
        const mote_select_axis_t *axis = &p->axis[i];
        const int32_t turns = ++at->index[i] < axis->size ? 1 : 1 - axis->size;
        at->c += turns * axis->c;
        at->x += turns * axis->x;
        at->y += turns * axis->y;
        if (turns > 0) {
            return;
        }
        at->index[i] = 0;
    }
}

/* The kernel mote_NAME for elements of a type. */
#define MOTE_SELECT(name, type) \
    typedef mote_select_t mote_##name##_t; \
    MOTE_UNUSED static inline void mote_##name(const mote_select_t *p, const uint8_t *condition, const type *x, \
                                               const type *y, type *out, int32_t lo, int32_t hi) { \
        mote_select_walk_t at = mote_select_to_row(p, lo); \
        out += lo * p->runs * p->run; \
        for (int32_t runs = (hi - lo) * p->runs; runs > 0; mote_select_on(p, &at), runs--) { \
            const uint8_t *c = condition + at.c; \
            const type *from_x = x + at.x, *from_y = y + at.y; \
            for (int32_t n = p->run; n > 0; n--, c += p->c_step, from_x += p->x_step, from_y += p->y_step) { \
                *out++ = *c ? *from_x : *from_y; \
            } \
        } \
    }

#endif
