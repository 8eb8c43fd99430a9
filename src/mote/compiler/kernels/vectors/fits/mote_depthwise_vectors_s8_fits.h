/* mote_depthwise_vectors_s8_fits.h: checks of the parameters of mote_depthwise_vectors_s8.h. */
#ifndef MOTE_DEPTHWISE_VECTORS_S8_FITS_H
#define MOTE_DEPTHWISE_VECTORS_S8_FITS_H

#include "mote_depthwise_vectors_s8.h"
#include "mote_vectors_fits.h"

static inline int mote_depthwise_vectors_fit(const mote_depthwise_vectors_s8_t *p, const mote_room_t *room) {
    const int32_t pairs = (p->rows.taps + 1) / 2;
    const uint32_t line = mote_much_plus(mote_bytes_of(p->width, p->channels, 1), MOTE_VECTOR_BLOCK);
    return mote_within(p->rows.taps, 1, MOTE_MAX_TAPS) && mote_columns_fit(&p->cols, p->width) &&
           mote_blocks_fit(p->block, room, p->channels, 0) &&
           mote_array_fits(room, p->weights, mote_blocks_of(p->channels), pairs, p->cols.taps, 2 * MOTE_VECTOR_BLOCK, 2) &&
           mote_much_times(mote_much_times(line, (uint32_t)pairs), 4) <= room->scratch;
}

#endif
