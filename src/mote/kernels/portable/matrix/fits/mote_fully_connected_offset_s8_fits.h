/* mote_fully_connected_offset_s8_fits.h: checks of the parameters of mote_fully_connected_offset_s8.h. */
#ifndef MOTE_FULLY_CONNECTED_OFFSET_S8_FITS_H
#define MOTE_FULLY_CONNECTED_OFFSET_S8_FITS_H

#include "mote_fully_connected_offset_s8.h"
#include "mote_fully_connected_s8_fits.h"
#include "mote_fully_connected_steps_s8_fits.h"

static inline int mote_fully_connected_offset_s8_fits(const mote_fully_connected_offset_s8_t *p,
                                                      const mote_room_t *room) {
    return mote_fully_connected_s8_fits(&p->layer, room);
}

static inline int mote_fully_connected_offset_steps_s8_fits(const mote_fully_connected_offset_steps_s8_t *p,
                                                            const mote_room_t *room) {
    return mote_fully_connected_steps_s8_fits(&p->layer, room);
}

#endif
