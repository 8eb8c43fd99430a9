/* mote_pick_fits.h: whether parameters of mote_pick.h fit. */
#ifndef MOTE_PICK_FITS_H
#define MOTE_PICK_FITS_H

#include "mote_elements_fits.h"
#include "mote_pick.h"

/* How many bytes into the input an axis leads at most. */
static inline uint32_t mote_pick_reach(const mote_pick_t *p, const mote_room_t *room, const mote_pick_axis_t *axis) {
    const uint32_t end = mote_much_plus(mote_size(axis->list), mote_count(axis->size, 1, 1, 1));
    uint32_t reach = 0;
    if (axis->list < 0) {
        return mote_reach(axis->size, axis->step);
    }
    if (!mote_holds(room, p->place, mote_much_times(end, sizeof *p->place), 4)) {
        return MOTE_MUCH;
    }
    for (int32_t i = 0; i < axis->size; i++) {
        const uint32_t place = mote_size(p->place[axis->list + i]);
        reach = place > reach ? place : reach;
    }
    return reach;
}

/* Rows lo..hi-1, which do not overlap. */
static inline int mote_pick_rows_fit(const mote_pick_t *p, const mote_room_t *room, int32_t lo, int32_t hi) {
    const int32_t all = p->row_axes + 2, first = room->form == MOTE_RUN_ROW ? p->row_axes : 0;
    uint32_t end = mote_count(p->run, 1, 1, 1);
    if (!mote_within(p->row_axes, 0, MOTE_LARGEST) ||
        !mote_holds(room, p->axis, mote_bytes_of(all, 1, sizeof *p->axis), 4)) {
        return 0;
    }
    for (int32_t a = first; a < all; a++) {
        end = mote_much_plus(end, mote_pick_reach(p, room, p->axis + a));
    }
    const uint32_t row = mote_count(p->axis[all - 2].size, p->axis[all - 1].size, p->run, 1);
    return lo >= 0 && mote_takes(room, 0, end, 1) && row <= mote_size(p->out_row) &&
           mote_gives(room, mote_count(hi, p->out_row, 1, 1), 1);
}

#endif
