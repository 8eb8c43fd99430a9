/* mote_add_n_fits.h: whether parameters of mote_add_n.h fit. */
#ifndef MOTE_ADD_N_FITS_H
#define MOTE_ADD_N_FITS_H

#include "mote_add_n.h"
#include "mote_common_fits.h"

static inline int mote_add_n_fits(const mote_add_n_t *p, const mote_room_t *room, int32_t inputs, uint32_t size) {
    const uint32_t bytes = mote_bytes_of(room->hi, 1, size);
    int fits = mote_asks_units(room) && p->inputs == inputs && room->operands == inputs && mote_rescales(p->shift) &&
               mote_gives(room, bytes, size);
    for (int32_t k = 0; fits && k < inputs; k++) {
        fits = mote_takes(room, k, bytes, size);
    }
    return fits;
}

#endif
