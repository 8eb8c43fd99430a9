/* mote_demosaic_fits.h: the lines that demosaicing reads and writes. */
#ifndef MOTE_DEMOSAIC_FITS_H
#define MOTE_DEMOSAIC_FITS_H

#include "mote_common_fits.h"
#include "mote_demosaic.h"

static inline int mote_demosaic_fits_room(const mote_demosaic_t *p, const mote_room_t *room) {
    const uint32_t in = mote_bytes_of(p->columns, 1, 1), out = mote_bytes_of(p->columns, p->channels, 1);
    if (room->form == MOTE_RUN_ROW) {
        return room->taps[0] >= 3 && !(room->outside & 1) && mote_takes(room, 0, in, 1) && mote_gives(room, out, 1);
    }
    return mote_asks_rows(room) && mote_within(p->rows, 2, MOTE_LARGEST) && room->hi <= p->rows &&
           mote_takes(room, 0, mote_much_times((uint32_t)p->rows, in), 1) &&
           mote_gives(room, mote_much_times((uint32_t)room->hi, out), 1);
}

#endif
