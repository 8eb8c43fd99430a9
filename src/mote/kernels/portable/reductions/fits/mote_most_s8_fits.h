/* mote_most_s8_fits.h: whether parameters of mote_most_s8.h fit. */
#ifndef MOTE_MOST_S8_FITS_H
#define MOTE_MOST_S8_FITS_H

#include "mote_elements_fits.h"
#include "mote_most_s8.h"

static inline int mote_most_s8_fits(const mote_most_s8_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_count(room->hi, p->count, p->inner, 1), 1) &&
           mote_gives(room, mote_count(room->hi, p->inner, 1, 1), 1);
}

static inline int mote_most_add_s8_fits(const mote_most_add_s8_t *p, const mote_room_t *room) {
    const uint32_t results = mote_count(p->lines, p->inner, 1, 1);
    return mote_adds(room, INT32_MAX) && mote_takes(room, 0, mote_count(p->lines, p->count, p->inner, 1), 1) &&
           results <= room->sums && mote_gives(room, results, 1);
}

#endif
