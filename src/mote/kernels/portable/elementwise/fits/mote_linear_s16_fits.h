/* mote_linear_s16_fits.h: whether parameters of mote_linear_s16.h fit. */
#ifndef MOTE_LINEAR_S16_FITS_H
#define MOTE_LINEAR_S16_FITS_H

#include "mote_elements_fits.h"
#include "mote_linear_s16.h"

static inline int mote_relu_s16_fits(const mote_relu_s16_t *p, const mote_room_t *room) {
    return mote_each_fits(room, room->hi, 2, 2) && mote_rescales(p->shift);
}

static inline int mote_leaky_relu_s16_fits(const mote_leaky_relu_s16_t *p, const mote_room_t *room) {
    return mote_each_fits(room, room->hi, 2, 2) && mote_rescales(p->shift) && mote_rescales(p->below_shift);
}

static inline int mote_abs_s16_fits(const mote_abs_s16_t *p, const mote_room_t *room) {
    return mote_each_fits(room, room->hi, 2, 2) && mote_rescales(p->shift);
}

#endif
