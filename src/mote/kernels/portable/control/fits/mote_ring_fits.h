/* mote_ring_fits.h: checks of the parameters of mote_ring.h. */
#ifndef MOTE_RING_FITS_H
#define MOTE_RING_FITS_H

#include "mote_common_fits.h"
#include "mote_ring.h"

/* The kernel and those who read the ring must agree on its rows, of which one is the oldest. */
static inline int mote_ring_fits(const mote_ring_t *p, const mote_room_t *room) {
    const uint32_t fresh = mote_bytes_of(p->fresh, p->bytes, 1), all = mote_bytes_of(p->rows, p->bytes, 1);
    return room->form == MOTE_RUN_RING && mote_counts(p->fresh | p->bytes) && mote_within(p->rows, 1, UINT16_MAX) &&
           p->rows == room->hi && mote_takes(room, 0, fresh, 1) && mote_gives(room, all, 1) &&
           mote_apart(room, 0, 0, fresh, 0, all);
}

#endif
