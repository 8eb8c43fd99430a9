/* mote_flip_fits.h: whether parameters of mote_flip.h fit. */
#ifndef MOTE_FLIP_FITS_H
#define MOTE_FLIP_FITS_H

#include "mote_elements_fits.h"
#include "mote_flip.h"

static inline int mote_flip_fits(const mote_flip_t *p, const mote_room_t *room) {
    (void)p;
    return mote_each_fits(room, room->hi, 1, 1);
}

#endif
