/* mote_index_fits.h: places of tensors that indices lead to, whatever they are. */
#ifndef MOTE_INDEX_FITS_H
#define MOTE_INDEX_FITS_H

#include "mote_elements_fits.h"
#include "mote_index.h"

/* Whether the output begins as a copy of the first operand, or lies where that does. */
static inline int mote_goes_on(const mote_room_t *room, uint32_t bytes) {
    return mote_takes(room, 0, bytes, 1) && mote_gives(room, bytes, 1) &&
           (room->at[0] == room->to || mote_apart(room, 0, 0, bytes, 0, bytes));
}

/* Whether operand k has `count` indices of a width that mote_index knows. */
static inline int mote_indices_fit(const mote_room_t *room, int32_t k, uint32_t count, int32_t width) {
    return (width == 2 || width == 4 || width == 8) && mote_takes(room, k, mote_much_times(count, (uint32_t)width), 1);
}

/* How many bytes into a tensor tuples of indices lead at most. */
static inline uint32_t mote_tuples_reach(const mote_room_t *room, const mote_indexed_t *axis, int32_t depth) {
    uint32_t reach = 0;
    if (!mote_holds(room, axis, mote_count(depth, sizeof *axis, 1, 1), 4)) {
        return MOTE_MUCH;
    }
    for (int32_t d = 0; d < depth; d++) {
        reach = mote_much_plus(reach, mote_reach(axis[d].size, axis[d].step));
    }
    return reach;
}

/* How many bytes into a tensor the begin of a box leads at most, where indices of operand k say that. */
static inline uint32_t mote_begin_reach(const mote_room_t *room, const mote_begin_t *begin, int32_t axes, int32_t k,
                                        int32_t width) {
    uint32_t reach = 0, count = 0;
    if (axes != 0 && !mote_holds(room, begin, mote_count(axes, sizeof *begin, 1, 1), 4)) {
        return MOTE_MUCH;
    }
    for (int32_t a = 0; a < axes; a++) {
        const uint32_t last = mote_size(begin[a].index);
        count = last < count ? count : mote_much_plus(last, 1);
        reach = mote_much_plus(reach, mote_bytes_of(begin[a].last, begin[a].step, 1));
    }
    return mote_indices_fit(room, k, count, width) ? reach : MOTE_MUCH;
}

#endif
