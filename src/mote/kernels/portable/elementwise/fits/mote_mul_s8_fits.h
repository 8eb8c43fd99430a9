/* mote_mul_s8_fits.h: checks of the parameters of mote_mul_s8.h. */
#ifndef MOTE_MUL_S8_FITS_H
#define MOTE_MUL_S8_FITS_H

#include "mote_broadcast_fits.h"
#include "mote_mul_s8.h"

static inline int mote_mul_shifts(const mote_mul_s8_t *p) {
    return mote_within(p->left, 0, 31) && mote_within(p->right, 0, 31);
}

static inline int mote_mul_s8_fits(const mote_mul_s8_t *p, const mote_room_t *room) {
    return mote_mul_shifts(p) && mote_two_fit(room, 1);
}

static inline int mote_mul_rows_s8_fits(const mote_mul_rows_s8_t *p, const mote_room_t *room) {
    return mote_mul_shifts(&p->mul) && mote_broadcast_fits(&p->walk, room, 1, 1, 1, 1);
}

#endif
