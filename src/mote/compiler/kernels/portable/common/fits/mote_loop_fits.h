/* mote_loop_fits.h: the reach of loops over a tensor. */
#ifndef MOTE_LOOP_FITS_H
#define MOTE_LOOP_FITS_H

#include "mote_elements_fits.h"
#include "mote_loop.h"

#define MOTE_LOOPS 3

/* From the first element that loops inside one another visit to the last one. */
static inline uint32_t mote_loops_reach(const mote_room_t *room, const mote_loop_t *loop) {
    uint32_t reach = 0;
    if (!mote_holds(room, loop, MOTE_LOOPS * sizeof *loop, 4)) {
        return MOTE_MUCH;
    }
    for (int32_t i = 0; i < MOTE_LOOPS; i++) {
        reach = mote_much_plus(reach, mote_reach(loop[i].size, loop[i].step));
    }
    return reach;
}

/* Loops over what is kept, `inner` elements side by side, and others over what one result is made from. Together they
 * visit no more elements than there are. */
static inline int mote_loops_fit(const mote_room_t *room, const mote_loop_t *kept, const mote_loop_t *others,
                                 int32_t inner, uint32_t size) {
    const uint32_t reach = mote_much_plus(mote_loops_reach(room, kept), mote_loops_reach(room, others));
    const uint32_t end = mote_much_plus(reach, mote_count(inner, 1, 1, 1));
    uint32_t results, each;
    if (!mote_of_tensors(room) || !mote_takes(room, 0, mote_much_times(end, size), size)) {
        return 0;
    }
    results = mote_much_times(mote_count(kept[0].size, kept[1].size, kept[2].size, inner), size);
    each = mote_count(others[0].size, others[1].size, others[2].size, 1);
    return mote_gives(room, results, size) && mote_takes(room, 0, mote_much_times(results, each), size);
}

#endif
