/* mote_pool_s8_fits.h: checks of the parameters of mote_pool_s8.h. */
#ifndef MOTE_POOL_S8_FITS_H
#define MOTE_POOL_S8_FITS_H

#include "mote_pool_fits.h"
#include "mote_pool_s8.h"

static inline int mote_max_pool_s8_fits(const mote_max_pool_s8_t *p, const mote_room_t *room) {
    return mote_pool_fits(&p->rows, &p->cols, room, p->channels, 1);
}

static inline int mote_avg_pool_s8_fits(const mote_avg_pool_s8_t *p, const mote_room_t *room) {
    return mote_max_pool_s8_fits(p, room) && mote_pool_filled(&p->rows, &p->cols, room);
}

#endif
