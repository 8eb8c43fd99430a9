/* mote_move_fits.h: checks of the parameters of mote_move.h. */
#ifndef MOTE_MOVE_FITS_H
#define MOTE_MOVE_FITS_H

#include "mote_common_fits.h"
#include "mote_move.h"

/* The bytes that are touched, from `low` to `high` - 1, as steps of either sign reach them. */
typedef struct {
    int64_t low, high;
} mote_reach_t;

/* So many steps further, one less than there are places. */
static inline void mote_reach_on(mote_reach_t *r, int32_t size, int32_t step) {
    const int64_t far = (int64_t)(size - 1) * step;
    r->low += far < 0 ? far : 0;
    r->high += far > 0 ? far : 0;
}

static inline int mote_reaches(const mote_reach_t *r, uint32_t bytes) { return r->low >= 0 && r->high <= bytes; }

/* Whether a move ends, and what it reaches in its input and its output from where they begin. It copies no more bytes
 * than `bytes`. */
static inline int mote_move_reach(const mote_move_t *m, const mote_room_t *room, uint32_t bytes, mote_reach_t *in,
                                  mote_reach_t *out) {
    uint32_t copied = mote_size(m->run);
    if (!mote_within(m->axes, 1, MOTE_MOVE_AXES) || !mote_within(m->run, 1, MOTE_LARGEST) ||
        !mote_holds(room, m->axis, (uint32_t)m->axes * sizeof *m->axis, 4)) {
        return 0;
    }
    in->low = m->in_start, in->high = (int64_t)m->in_start + m->run;
    out->low = m->out_start, out->high = (int64_t)m->out_start + m->run;
    for (int32_t a = 0; a < m->axes; a++) {
        const mote_move_axis_t *x = &m->axis[a];
        if (!mote_counts(x->size) || x->size == 0) {
            return 0;
        }
        mote_reach_on(in, x->size, x->in_step);
        mote_reach_on(out, x->size, x->out_step);
        copied = mote_much_times(copied, (uint32_t)x->size);
    }
    return copied <= bytes;
}

/* Whether a move between memory of these sizes stays inside of it. */
static inline int mote_moves(const mote_move_t *m, const mote_room_t *room, uint32_t from, uint32_t to) {
    mote_reach_t in, out;
    return mote_move_reach(m, room, to, &in, &out) && mote_reaches(&in, from) && mote_reaches(&out, to);
}

static inline int mote_fill_fits(const mote_fill_t *f, const mote_room_t *room, uint32_t bytes) {
    return mote_counts(f->bytes) && mote_within(f->width, 1, 16) && f->bytes % f->width == 0 &&
           (uint32_t)f->bytes <= bytes && mote_holds(room, f->value, (uint32_t)f->width, 1);
}

#endif
