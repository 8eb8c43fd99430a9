/* mote_mul4_s8_fits.h: whether parameters of the kernels in mote_mul4_s8.h fit. */
#ifndef MOTE_MUL4_S8_FITS_H
#define MOTE_MUL4_S8_FITS_H

#include "mote_broadcast_fits.h"
#include "mote_mul4_s8.h"

static inline int mote_mul4_s8_fits(const mote_mul4_s8_t *p, const mote_room_t *room) {
    return mote_within(p->right, 0, 31) && mote_two_fit(room, 1);
}

static inline int mote_mul4_rows_s8_fits(const mote_mul4_rows_s8_t *p, const mote_room_t *room) {
    return mote_within(p->mul4.right, 0, 31) && mote_broadcast_fits(&p->walk, room, 1, 1, 1, 1);
}

#endif
