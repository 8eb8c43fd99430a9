/* mote_depthwise_s8_fits.h: checks of the parameters of mote_depthwise_s8.h. */
#ifndef MOTE_DEPTHWISE_S8_FITS_H
#define MOTE_DEPTHWISE_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_depthwise_s8.h"

/* Whether every channel has weights, in blocks of four, and an input channel. */
static inline int mote_depthwise_s8_holds(const mote_depthwise_s8_t *p, const mote_room_t *room) {
    const uint32_t most = mote_count(p->in_channels, p->multiplier, 1, 1);
    return mote_counts(p->channels) && most != MOTE_MUCH && (uint32_t)p->channels <= most &&
           mote_array_fits(room, p->weights, (p->channels + 3) / 4, p->rows.taps, p->cols.taps, 4, 1);
}

static inline int mote_depthwise_s8_fits(const mote_depthwise_s8_t *p, const mote_room_t *room) {
    return mote_depthwise_s8_holds(p, room) &&
           mote_channels_fit(p->channel, room, p->channels, mote_least_shift(&p->output)) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->in_channels, p->channels, 1);
}

#endif
