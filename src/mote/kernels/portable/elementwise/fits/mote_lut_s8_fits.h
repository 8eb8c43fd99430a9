/* mote_lut_s8_fits.h: whether parameters of mote_lut_s8.h fit. */
#ifndef MOTE_LUT_S8_FITS_H
#define MOTE_LUT_S8_FITS_H

#include "mote_elements_fits.h"
#include "mote_lut_s8.h"

static inline int mote_lut_s8_fits(const mote_lut_s8_t *p, const mote_room_t *room) {
    return mote_each_fits(room, room->hi, 1, 1) && mote_holds(room, p->table, 256, 1);
}

#endif
