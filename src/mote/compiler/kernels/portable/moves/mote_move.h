/* mote_move.h: bytes from one place to another: transposing, slicing, padding, joining. Any element type.
 *
 * The compiler merges axes that lie in each other's order, so that what is left to do is to copy runs of
 * bytes (`run`; one element at least) at steps that differ between input and output. All steps are in bytes.
 */
#ifndef MOTE_MOVE_H
#define MOTE_MOVE_H

#include "mote_common.h"

#define MOTE_MOVE_AXES 6

/* Copy `items` runs. The size of an element is spelled out so that the compiler makes it a load and a store. */
static inline void mote_move_items(const int8_t *in, int8_t *out, int32_t items, int32_t in_step, int32_t out_step,
                                   int32_t run) {
    switch (run) {
    case 1:
        for (int32_t i = 0; i < items; i++) {
            out[i * out_step] = in[i * in_step];
        }
        break;
    case 2:
        for (int32_t i = 0; i < items; i++) {
            memcpy(out + i * out_step, in + i * in_step, 2);
        }
        break;
    case 4:
        for (int32_t i = 0; i < items; i++) {
            memcpy(out + i * out_step, in + i * in_step, 4);
        }
        break;
    default:
        for (int32_t i = 0; i < items; i++) {
            memcpy(out + i * out_step, in + i * in_step, (size_t)run);
        }
    }
}

typedef struct {
    int32_t size, in_step, out_step;
} mote_move_axis_t;

/* A copy over up to six axes, the last one innermost. */
typedef struct {
    int32_t axes, run;
    int32_t in_start, out_start;
    const mote_move_axis_t *axis;
} mote_move_t;

static inline void mote_move(const mote_move_t *p, const void *in, void *out) {
    const mote_move_axis_t *const last = p->axis + p->axes - 1;
    int32_t at[MOTE_MOVE_AXES] = {0};
    int32_t from = p->in_start, to = p->out_start, a;
    MOTE_UNRELATED(out);
    do {
        mote_move_items((const int8_t *)in + from, (int8_t *)out + to, last->size, last->in_step, last->out_step,
                        p->run);
        for (a = p->axes - 2; a >= 0; a--) { /* count on the other axes, the inner ones fastest */
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

static inline void mote_fill(const mote_fill_t *f, int8_t *out) {
    if (f->width == 1) {
        memset(out, f->value[0], (size_t)f->bytes);
        return;
    }
    for (int32_t i = 0; i < f->bytes; i += f->width) {
        memcpy(out + i, f->value, (size_t)f->width);
    }
}

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
