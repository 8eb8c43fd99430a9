/* mote_pool_s16_fits.h: checks of the parameters of mote_pool_s16.h. */
#ifndef MOTE_POOL_S16_FITS_H
#define MOTE_POOL_S16_FITS_H

#include "mote_pool_fits.h"
#include "mote_pool_s16.h"

static inline int mote_max_pool_s16_fits(const mote_max_pool_s16_t *p, const mote_room_t *room) {
    return mote_pool_fits(&p->rows, &p->cols, room, p->channels, 2);
}

static inline int mote_avg_pool_s16_fits(const mote_avg_pool_s16_t *p, const mote_room_t *room) {
    return mote_max_pool_s16_fits(p, room);
}

static inline int mote_max_pool_add_s16_fits(const mote_max_pool_add_s16_t *p, const mote_room_t *room) {
    return mote_pool_adds(&p->cols, room, p->channels, 2, 2);
}

static inline int mote_avg_pool_add_s16_fits(const mote_avg_pool_add_s16_t *p, const mote_room_t *room) {
    return mote_pool_adds(&p->cols, room, p->channels, 4, 2);
}

#endif
