/* mote_suppression_fits.h: whether parameters of mote_suppression.h fit. */
#ifndef MOTE_SUPPRESSION_FITS_H
#define MOTE_SUPPRESSION_FITS_H

#include "mote_elements_fits.h"
#include "mote_suppression.h"

static inline int mote_suppression_v4_fits(const mote_suppression_t *p, const mote_room_t *room) {
    const uint32_t box = mote_count(p->boxes, 16, 1, 1);
    return room->form == MOTE_RUN_WHOLE && mote_takes(room, 0, box, 4) && mote_takes(room, 1, box / 4, 4) &&
           mote_takes(room, 2, 4, 4) && mote_takes(room, 3, 4, 4) && box <= room->scratch &&
           mote_gives(room, mote_much_plus(mote_count(p->most, 8, 1, 1), 4), 4);
}

static inline int mote_suppression_v5_fits(const mote_suppression_t *p, const mote_room_t *room) {
    return mote_suppression_v4_fits(p, room) && mote_takes(room, 4, 4, 4);
}

#endif
