/* mote_pool_even_s8_fits.h: checks of the parameters of mote_pool_even_s8.h. */
#ifndef MOTE_POOL_EVEN_S8_FITS_H
#define MOTE_POOL_EVEN_S8_FITS_H

#include "mote_pool_even_s8.h"
#include "mote_pool_fits.h"

static inline int mote_pool_even_s8_fits(const mote_pool_even_s8_t *p, const mote_room_t *room) {
    return mote_pool_fits(&p->rows, &p->cols, room, p->channels, 1) && mote_array_fits(room, p->reals, 256, 1, 1, 1, 4);
}

#endif
