/* mote_pool_helium_s8_fits.h: whether parameters of the kernels in mote_pool_helium_s8.h fit. */
#ifndef MOTE_POOL_HELIUM_S8_FITS_H
#define MOTE_POOL_HELIUM_S8_FITS_H

#include "mote_pool_helium_s8.h"
#include "mote_pool_s8_fits.h"

/* Sixteen channels at least, and something to go through in each window. */
static inline int mote_pool_helium_fits(const mote_pool_s8_t *p, const mote_room_t *room) {
    return p->channels >= 16 && mote_within(p->rows.taps, 1, MOTE_MAX_TAPS) && mote_max_pool_s8_fits(p, room) &&
           mote_pool_filled(&p->rows, &p->cols, room);
}

static inline int mote_max_pool_helium_s8_fits(const mote_max_pool_helium_s8_t *p, const mote_room_t *room) {
    return mote_pool_helium_fits(p, room);
}

static inline int mote_avg_pool_helium_s8_fits(const mote_avg_pool_helium_s8_t *p, const mote_room_t *room) {
    return mote_pool_helium_fits(p, room);
}

#endif
