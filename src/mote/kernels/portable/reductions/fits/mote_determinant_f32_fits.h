/* mote_determinant_f32_fits.h: whether parameters of mote_determinant_f32.h fit. */
#ifndef MOTE_DETERMINANT_F32_FITS_H
#define MOTE_DETERMINANT_F32_FITS_H

#include "mote_determinant_f32.h"
#include "mote_elements_fits.h"

static inline int mote_determinant_f32_fits(const mote_determinant_f32_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_count(p->count, p->size, p->size, 4), 4) &&
           mote_gives(room, mote_count(p->count, 4, 1, 1), 4) && mote_count(p->size, p->size, 4, 1) <= room->scratch;
}

#endif
