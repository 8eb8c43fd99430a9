/* mote_depthwise_blocks_f32_fits.h: whether parameters of the kernel in mote_depthwise_blocks_f32.h fit. */
#ifndef MOTE_DEPTHWISE_BLOCKS_F32_FITS_H
#define MOTE_DEPTHWISE_BLOCKS_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_depthwise_blocks_f32.h"

static inline int mote_depthwise_blocks_f32_fits(const mote_depthwise_blocks_f32_t *p, const mote_room_t *room) {
    return mote_array_fits(room, p->weights, p->rows.taps, p->cols.taps, p->channels, 1, 4) &&
           mote_array_fits(room, p->bias, p->channels, 1, 1, 1, 4) &&
           mote_pixels_fit(&p->rows, &p->cols, room, p->channels, p->channels, 4);
}

#endif
