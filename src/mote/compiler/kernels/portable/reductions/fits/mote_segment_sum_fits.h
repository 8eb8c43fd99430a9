/* mote_segment_sum_fits.h: whether parameters of mote_segment_sum.h fit. */
#ifndef MOTE_SEGMENT_SUM_FITS_H
#define MOTE_SEGMENT_SUM_FITS_H

#include "mote_elements_fits.h"
#include "mote_segment_sum.h"

/* How many of the first axis all segments have together. */
static inline uint32_t mote_segment_sum_all(const mote_segment_sum_t *p, const mote_room_t *room) {
    uint32_t all = 0;
    if (!mote_holds(room, p->length, mote_count(p->segments, 4, 1, 1), 4)) {
        return MOTE_MUCH;
    }
    for (int32_t i = 0; i < p->segments; i++) {
        all = mote_much_plus(all, mote_size(p->length[i]));
    }
    return all;
}

#endif
