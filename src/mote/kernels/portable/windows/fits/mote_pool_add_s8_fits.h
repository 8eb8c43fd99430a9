/* mote_pool_add_s8_fits.h: checks of the parameters of mote_pool_add_s8.h. */
#ifndef MOTE_POOL_ADD_S8_FITS_H
#define MOTE_POOL_ADD_S8_FITS_H

#include "mote_pool_add_s8.h"
#include "mote_pool_fits.h"

static inline int mote_max_pool_add_s8_fits(const mote_max_pool_add_s8_t *p, const mote_room_t *room) {
    return mote_pool_adds(&p->cols, room, p->channels, 1, 1);
}

static inline int mote_avg_pool_add_s8_fits(const mote_avg_pool_add_s8_t *p, const mote_room_t *room) {
    return mote_pool_adds(&p->cols, room, p->channels, 4, 1) && mote_span_filled(&p->cols) &&
           mote_steps_short(p->rows.taps | p->rows.pad) && p->rows.pad < p->rows.taps && p->rows.in_rows > 0;
}

#endif
