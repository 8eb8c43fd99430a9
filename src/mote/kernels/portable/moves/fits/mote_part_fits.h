/* mote_part_fits.h: whether parameters of mote_part.h fit. */
#ifndef MOTE_PART_FITS_H
#define MOTE_PART_FITS_H

#include "mote_elements_fits.h"
#include "mote_part.h"

static inline int mote_part_f32_fits(const mote_part_f32_t *p, const mote_room_t *room) {
    const uint32_t end = mote_much_plus(mote_size(p->begin), mote_size(p->size)), out = mote_bytes_of(p->size, 1, 4);
    return mote_of_tensors(room) && mote_takes(room, 0, mote_much_times(end, 4), 4) && mote_gives(room, out, 4) &&
           mote_apart(room, 0, mote_much_times(end, 4) - out, out, 0, out);
}

static inline int mote_part_s32_fits(const mote_part_s32_t *p, const mote_room_t *room) {
    return mote_part_f32_fits(p, room);
}

#endif
