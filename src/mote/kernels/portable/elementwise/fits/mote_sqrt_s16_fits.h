/* mote_sqrt_s16_fits.h: whether parameters of mote_sqrt_s16.h fit. */
#ifndef MOTE_SQRT_S16_FITS_H
#define MOTE_SQRT_S16_FITS_H

#include "mote_elements_fits.h"
#include "mote_sqrt_s16.h"

/* Results are not negative, so that they can be rounded. */
static inline int mote_sqrt_s16_fits(const mote_sqrt_s16_t *p, const mote_room_t *room) {
    return mote_each_fits(room, room->hi, 2, 2) && p->in_scale >= 0.0f && p->out_scale > 0.0f;
}

#endif
