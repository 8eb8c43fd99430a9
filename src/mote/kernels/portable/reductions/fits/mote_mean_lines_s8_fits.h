/* mote_mean_lines_s8_fits.h: whether parameters of mote_mean_lines_s8.h fit. */
#ifndef MOTE_MEAN_LINES_S8_FITS_H
#define MOTE_MEAN_LINES_S8_FITS_H

#include "mote_elements_fits.h"
#include "mote_mean_lines_s8.h"

static inline int mote_mean_lines_s8_fits(const mote_mean_lines_s8_t *p, const mote_room_t *room) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_count(room->hi, p->size, 1, 1), 1) &&
           mote_gives(room, mote_count(room->hi, 1, 1, 1), 1) && mote_rescales(p->channel.shift);
}

#endif
