/* mote_lut_s16_fits.h: whether parameters of mote_lut_s16.h fit. */
#ifndef MOTE_LUT_S16_FITS_H
#define MOTE_LUT_S16_FITS_H

#include "mote_elements_fits.h"
#include "mote_lut_s16.h"

static inline int mote_lut_s16_fits(const mote_lut_s16_t *p, const mote_room_t *room) {
    return mote_each_fits(room, room->hi, 2, 2) && mote_holds(room, p->ends, 2 * 513, 2);
}

#endif
