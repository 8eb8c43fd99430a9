/* mote_pointwise_s8_fits.h: checks of the parameters of mote_pointwise_s8.h. */
#ifndef MOTE_POINTWISE_S8_FITS_H
#define MOTE_POINTWISE_S8_FITS_H

#include "mote_dot_s8_fits.h"
#include "mote_pointwise_s8.h"

/* Whether pixels that are vectors of their own have room. */
static inline int mote_gemm_vectors_fit(const mote_gemm_s8_t *g, const mote_room_t *room) {
    return mote_asks_units(room) && mote_gemm_fits(g, room) &&
           mote_takes(room, 0, mote_bytes_of(room->hi, g->depth, 1), 1) &&
           mote_gives(room, mote_gemm_bytes(g, room->hi), 1);
}

static inline int mote_pointwise_s8_fits(const mote_pointwise_s8_t *p, const mote_room_t *room) {
    return mote_gemm_vectors_fit(&p->gemm, room);
}

#endif
