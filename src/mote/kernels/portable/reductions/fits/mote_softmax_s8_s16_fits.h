/* mote_softmax_s8_s16_fits.h: checks of the parameters of mote_softmax_s8_s16.h. */
#ifndef MOTE_SOFTMAX_S8_S16_FITS_H
#define MOTE_SOFTMAX_S8_S16_FITS_H

#include "mote_softmax_s8_fits.h"
#include "mote_softmax_s8_s16.h"

static inline int mote_softmax_s8_s16_fits(const mote_softmax_s8_s16_t *p, const mote_room_t *room) {
    return mote_softmax_shifts(p) && mote_asks_units(room) &&
           mote_takes(room, 0, mote_bytes_of(room->hi, p->depth, 1), 1) &&
           mote_gives(room, mote_bytes_of(room->hi, p->depth, 2), 2);
}

#endif
