/* mote_pool_f32_fits.h: checks of the parameters of mote_pool_f32.h. */
#ifndef MOTE_POOL_F32_FITS_H
#define MOTE_POOL_F32_FITS_H

#include "mote_pool_f32.h"
#include "mote_pool_fits.h"

static inline int mote_max_pool_f32_fits(const mote_max_pool_f32_t *p, const mote_room_t *room) {
    return mote_pool_fits(&p->rows, &p->cols, room, p->channels, 4);
}

static inline int mote_avg_pool_f32_fits(const mote_avg_pool_f32_t *p, const mote_room_t *room) {
    return mote_max_pool_f32_fits(p, room);
}

static inline int mote_l2_pool_f32_fits(const mote_l2_pool_f32_t *p, const mote_room_t *room) {
    return mote_max_pool_f32_fits(p, room);
}

#endif
