/* mote_move.h: bytes from one place to another: transposing, slicing, padding, joining. Any element type.
 *
 * The compiler merges axes that lie in each other's order, so that what is left to do is to copy runs of
 * bytes (`run`; one element at least) at steps that differ between input and output. All steps are in bytes.
 */
#ifndef MOTE_MOVE_H
#define MOTE_MOVE_H

#include "mote_common.h"
#include "mote_move_items.h"

#define MOTE_MOVE_AXES 6

typedef struct {
    int32_t size, in_step, out_step;
} mote_move_axis_t;

/* A copy over up to six axes, the last one innermost. */
typedef struct {
    int32_t axes, run;
    int32_t in_start, out_start;
    const mote_move_axis_t *axis;
} mote_move_t;

/* The axis along which the input's elements are side by side, if the last one is that of the output: rows become columns.
 * Else the last one. */
static inline int32_t mote_move_across(const mote_move_t *p) {
    const int32_t last = p->axes - 1;
    if (p->run <= 4 && p->axis[last].out_step == p->run) {
        for (int32_t a = 0; a < last; a++) {
            if (p->axis[a].in_step == p->run) {
                return a;
            }
        }
    }
    return last;
}

static inline void mote_move(const mote_move_t *p, const void *in, void *out) {
    const mote_move_axis_t *const last = p->axis + p->axes - 1;
    const int32_t across = mote_move_across(p);
    int32_t at[MOTE_MOVE_AXES] = {0};
    int32_t from = p->in_start, to = p->out_start, a;
    MOTE_UNRELATED(out);
    do {
        if (across < p->axes - 1) {
            mote_turn_items((const int8_t *)in + from, (int8_t *)out + to, last->size, p->axis[across].size,
                            last->in_step, p->axis[across].out_step, p->run);
        } else {
            mote_move_items((const int8_t *)in + from, (int8_t *)out + to, last->size, last->in_step, last->out_step,
                            p->run);
        }
        for (a = p->axes - 2; a >= 0; a--) { /* count on the other axes, the inner ones fastest */
            if (a == across) {
                continue;
            }
            from += p->axis[a].in_step;
            to += p->axis[a].out_step;
            if (++at[a] < p->axis[a].size) {
                break;
            }
            from -= p->axis[a].size * p->axis[a].in_step;
            to -= p->axis[a].size * p->axis[a].out_step;
            at[a] = 0;
        }
    } while (a >= 0);
}

/* What lies around a padded tensor: `bytes` of it, the value `width` bytes wide. */
typedef struct {
    int32_t bytes, width;
    const int8_t *value;
} mote_fill_t;

static inline void mote_fill_between(const mote_fill_t *f, int8_t *out, int32_t from, int32_t to) {
    if (f->width == 1) {
        mote_fill_bytes(out + from, f->value[0], to - from);
        return;
    }
    for (; from < to; from += f->width) {
        memcpy(out + from, f->value, (size_t)f->width);
    }
}

static inline void mote_fill(const mote_fill_t *f, int8_t *out) { mote_fill_between(f, out, 0, f->bytes); }

/* Padding over any axes: the whole output is filled, then the input is copied into it. */
typedef struct {
    mote_fill_t fill;
    mote_move_t move;
} mote_pad_t;

static inline void mote_pad(const mote_pad_t *p, const void *in, void *out) {
    mote_fill(&p->fill, (int8_t *)out);
    mote_move(&p->move, in, out);
}

#endif
