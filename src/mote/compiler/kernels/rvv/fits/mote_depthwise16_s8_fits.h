/* mote_depthwise16_s8_fits.h: checks of the parameters of mote_depthwise16_s8.h. */
#ifndef MOTE_DEPTHWISE16_S8_FITS_H
#define MOTE_DEPTHWISE16_S8_FITS_H

#include "mote_depthwise16_s8.h"
#include "mote_rvv_fits.h"

/* Whether there are weights and constants for all channels, and room for the list and the vector behind it. */
static inline int mote_depthwise16_fits(const mote_depthwise16_s8_t *p, const mote_room_t *room) {
    const uint32_t taps = mote_count(p->rows.taps, p->cols.taps, 1, 1);
    return p->rows.taps > 0 && p->cols.taps > 0 && mote_rvv_output_fits(&p->output, room, p->channels) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->channels, p->channels, 1) &&
           mote_holds(room, p->weights, mote_much_times(taps, (uint32_t)p->channels), 1) &&
           mote_much_plus(mote_much_times(taps, 4 * (uint32_t)sizeof(int8_t *)), (uint32_t)p->channels) <= room->scratch;
}

#endif
