/* mote_lookup_fits.h: whether parameters of mote_lookup.h fit. */
#ifndef MOTE_LOOKUP_FITS_H
#define MOTE_LOOKUP_FITS_H

#include "mote_index_fits.h"
#include "mote_lookup.h"
#include "mote_move_fits.h"

static inline int mote_lookup_fits(const mote_lookup_t *p, const mote_room_t *room) {
    const uint32_t parts = mote_count(p->batches, p->outer, p->run, 1);
    const uint32_t in = mote_much_times(parts, mote_count(p->size, 1, 1, 1));
    const uint32_t out = mote_much_times(parts, mote_count(p->count, 1, 1, 1));
    return mote_of_tensors(room) && mote_takes(room, 0, in, 1) &&
           mote_indices_fit(room, 1, mote_count(p->batches, p->count, 1, 1), p->width) && mote_gives(room, out, 1) &&
           mote_apart(room, 0, 0, in, 0, out);
}

static inline int mote_lookup_nd_fits(const mote_lookup_nd_t *p, const mote_room_t *room) {
    const uint32_t run = mote_count(p->run, 1, 1, 1);
    return mote_of_tensors(room) &&
           mote_takes(room, 0, mote_much_plus(mote_tuples_reach(room, p->axis, p->depth), run), 1) &&
           mote_indices_fit(room, 1, mote_count(p->count, p->depth, 1, 1), p->width) &&
           mote_gives(room, mote_much_times(mote_size(p->count), run), 1);
}

static inline int mote_lookup_box_fits(const mote_lookup_box_t *p, const mote_room_t *room) {
    const uint32_t reach = mote_begin_reach(room, p->begin, p->axes, 1, p->width);
    return mote_of_tensors(room) && reach <= room->in[0] &&
           mote_moves(&p->move, room, room->in[0] - reach, room->out);
}

static inline int mote_lookup_f32_fits(const mote_lookup_f32_t *p, const mote_room_t *room) {
    const uint32_t scales = mote_much_plus(mote_reach(p->size, p->step), 1);
    return mote_of_tensors(room) && mote_takes(room, 0, mote_count(p->size, p->run, 1, 1), 1) &&
           mote_indices_fit(room, 1, mote_count(p->count, 1, 1, 1), p->width) &&
           mote_holds(room, p->scale, mote_much_times(scales, 4), 4) &&
           mote_gives(room, mote_count(p->count, p->run, 4, 1), 4);
}

#endif
