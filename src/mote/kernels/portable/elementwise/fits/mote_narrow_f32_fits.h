/* mote_narrow_f32_fits.h: whether parameters of mote_narrow_f32.h fit. */
#ifndef MOTE_NARROW_F32_FITS_H
#define MOTE_NARROW_F32_FITS_H

#include "mote_elements_fits.h"
#include "mote_narrow_f32.h"

static inline int mote_narrow_f32_fits(const mote_narrow_f32_t *p, const mote_room_t *room) {
    return mote_within(p->dropped, 1, 23) && mote_each_fits(room, room->hi, 4, 4);
}

#endif
