/* mote_add4_s8_fits.h: whether parameters of the kernels in mote_add4_s8.h fit. */
#ifndef MOTE_ADD4_S8_FITS_H
#define MOTE_ADD4_S8_FITS_H

#include "mote_add4_s8.h"
#include "mote_broadcast_fits.h"

static inline int mote_add4_s8_fits(const mote_add4_s8_t *p, const mote_room_t *room) {
    (void)p;
    return mote_two_fit(room, 1);
}

static inline int mote_add4_rows_s8_fits(const mote_add4_rows_s8_t *p, const mote_room_t *room) {
    return mote_broadcast_fits(&p->walk, room, 1, 1, 1, 1);
}

#endif
