/* mote_slide_fits.h: checks of the parameters of mote_slide.h. */
#ifndef MOTE_SLIDE_FITS_H
#define MOTE_SLIDE_FITS_H

#include "mote_common_fits.h"
#include "mote_slide.h"

static inline int mote_slide_fits(const mote_slide_t *p, const mote_room_t *room) {
    return room->form == MOTE_RUN_WHOLE && mote_counts(p->runs | p->kept | p->fresh) &&
           mote_takes(room, 0, mote_bytes_of(p->runs, p->fresh, 1), 1) &&
           mote_gives(room, mote_bytes_of(p->runs, p->kept + p->fresh, 1), 1);
}

#endif
