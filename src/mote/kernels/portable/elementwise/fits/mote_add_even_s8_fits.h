/* mote_add_even_s8_fits.h: checks of the parameters of mote_add_even_s8.h. */
#ifndef MOTE_ADD_EVEN_S8_FITS_H
#define MOTE_ADD_EVEN_S8_FITS_H

#include "mote_add_even_s8.h"
#include "mote_broadcast_fits.h"

static inline int mote_add_even_tables(const mote_add_even_s8_t *p, const mote_room_t *room) {
    return mote_within(p->shift, 0, 30) && mote_array_fits(room, p->terms, 256, 1, 1, 1, 4) &&
           mote_array_fits(room, p->exact, 256, 1, 1, 1, 4);
}

static inline int mote_add_even_s8_fits(const mote_add_even_s8_t *p, const mote_room_t *room) {
    return mote_add_even_tables(p, room) && mote_two_fit(room, 1);
}

static inline int mote_add_even_rows_s8_fits(const mote_add_even_rows_s8_t *p, const mote_room_t *room) {
    return mote_add_even_tables(&p->add_even, room) && mote_broadcast_fits(&p->walk, room, 1, 1, 1, 1);
}

#endif
