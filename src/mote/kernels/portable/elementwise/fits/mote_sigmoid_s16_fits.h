/* mote_sigmoid_s16_fits.h: whether parameters of mote_sigmoid_s16.h fit. */
#ifndef MOTE_SIGMOID_S16_FITS_H
#define MOTE_SIGMOID_S16_FITS_H

#include "mote_elements_fits.h"
#include "mote_sigmoid_s16.h"

static inline int mote_sigmoid_s16_fits(const mote_sigmoid_s16_t *p, const mote_room_t *room) {
    return mote_each_fits(room, room->hi, 2, 2) && mote_within(p->shift, 0, 31) &&
           mote_holds(room, p->table, 2 * 256, 2);
}

static inline int mote_sigmoid_tanh_s16_fits(const mote_sigmoid_tanh_s16_t *p, const mote_room_t *room) {
    return mote_sigmoid_s16_fits(p, room);
}

#endif
