/* mote_pointwise_blocks_f32_fits.h: whether parameters of the kernel in mote_pointwise_blocks_f32.h fit. */
#ifndef MOTE_POINTWISE_BLOCKS_F32_FITS_H
#define MOTE_POINTWISE_BLOCKS_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_pointwise_blocks_f32.h"

static inline int mote_pointwise_blocks_f32_fits(const mote_pointwise_blocks_f32_t *p, const mote_room_t *room) {
    return mote_asks_units(room) && mote_array_fits(room, p->weights, p->depth, p->channels, 1, 1, 4) &&
           mote_array_fits(room, p->bias, p->channels, 1, 1, 1, 4) &&
           mote_takes(room, 0, mote_bytes_of(room->hi, p->depth, 4), 4) &&
           mote_gives(room, mote_bytes_of(room->hi, p->channels, 4), 4);
}

#endif
