/* mote_slide_fits.h: checks of the parameters of mote_slide.h. */
#ifndef MOTE_SLIDE_FITS_H
#define MOTE_SLIDE_FITS_H

#include "mote_common_fits.h"
#include "mote_slide.h"

static inline int mote_slide_fits(const mote_slide_t *p, const mote_room_t *room) {
    const uint32_t in = mote_bytes_of(p->runs, p->fresh, 1), out = mote_bytes_of(p->runs, p->kept + p->fresh, 1);
    return room->form == MOTE_RUN_WHOLE && mote_counts(p->runs | p->kept | p->fresh) && mote_takes(room, 0, in, 1) &&
           mote_gives(room, out, 1) && mote_apart(room, 0, 0, in, 0, out);
}

#endif
