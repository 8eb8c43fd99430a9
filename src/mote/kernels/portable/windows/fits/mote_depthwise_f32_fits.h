/* mote_depthwise_f32_fits.h: checks of the parameters of mote_depthwise_f32.h. */
#ifndef MOTE_DEPTHWISE_F32_FITS_H
#define MOTE_DEPTHWISE_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_depthwise_f32.h"

static inline int mote_depthwise_f32_fits(const mote_depthwise_f32_t *p, const mote_room_t *room) {
    return mote_count(p->in_channels, p->multiplier, 1, 1) == mote_size(p->channels) &&
           mote_array_fits(room, p->weights, p->rows.taps, p->cols.taps, p->channels, 1, 4) &&
           mote_array_fits(room, p->bias, p->channels, 1, 1, 1, 4) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, p->channels, 4);
}

#endif
