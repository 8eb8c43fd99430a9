/* mote_add_s8_fits.h: checks of the parameters of mote_add_s8.h. */
#ifndef MOTE_ADD_S8_FITS_H
#define MOTE_ADD_S8_FITS_H

#include "mote_add_s8.h"
#include "mote_broadcast_fits.h"

static inline int mote_add_s8_fits(const mote_add_s8_t *p, const mote_room_t *room) {
    (void)p;
    return mote_two_fit(room, 1);
}

static inline int mote_add_rows_s8_fits(const mote_add_rows_s8_t *p, const mote_room_t *room) {
    return mote_broadcast_fits(&p->walk, room, 1, 1, 1, 1);
}

#endif
