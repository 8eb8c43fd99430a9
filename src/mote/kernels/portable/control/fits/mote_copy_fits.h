/* mote_copy_fits.h: checks of the parameters of mote_copy.h. */
#ifndef MOTE_COPY_FITS_H
#define MOTE_COPY_FITS_H

#include "mote_common_fits.h"
#include "mote_copy.h"

static inline int mote_copy_fits(const mote_copy_t *p, const mote_room_t *room) {
    const uint32_t bytes = mote_size(p->bytes);
    return room->form == MOTE_RUN_WHOLE && mote_takes(room, 0, bytes, 1) && mote_gives(room, bytes, 1) &&
           mote_apart(room, 0, 0, bytes, 0, bytes);
}

#endif
