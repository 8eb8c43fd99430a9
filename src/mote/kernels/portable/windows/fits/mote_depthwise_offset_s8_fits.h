/* mote_depthwise_offset_s8_fits.h: checks of the parameters of mote_depthwise_offset_s8.h. */
#ifndef MOTE_DEPTHWISE_OFFSET_S8_FITS_H
#define MOTE_DEPTHWISE_OFFSET_S8_FITS_H

#include "mote_depthwise_offset_s8.h"
#include "mote_depthwise_s8_fits.h"

static inline int mote_depthwise_offset_s8_fits(const mote_depthwise_offset_s8_t *p, const mote_room_t *room) {
    return mote_depthwise_s8_fits(&p->layer, room);
}

#endif
