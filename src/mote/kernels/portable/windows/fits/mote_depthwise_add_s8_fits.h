/* mote_depthwise_add_s8_fits.h: checks of the parameters of mote_depthwise_add_s8.h. */
#ifndef MOTE_DEPTHWISE_ADD_S8_FITS_H
#define MOTE_DEPTHWISE_ADD_S8_FITS_H

#include "mote_depthwise_add_s8.h"
#include "mote_depthwise_s8_fits.h"
#include "mote_running_sums_fits.h"

static inline int mote_depthwise_add_s8_fits(const mote_depthwise_add_s8_t *p, const mote_room_t *room) {
    return mote_span_fits(&p->cols) && mote_depthwise_s8_holds(p, room) && room->hi <= p->rows.taps &&
           mote_sums_fit(p->channel, room, p->channels, p->cols.out_size, &p->output) &&
           mote_takes(room, 0, mote_bytes_of(p->cols.in_size, p->in_channels, 1), 1);
}

#endif
