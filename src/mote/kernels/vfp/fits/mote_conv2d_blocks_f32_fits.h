/* mote_conv2d_blocks_f32_fits.h: whether parameters of the kernel in mote_conv2d_blocks_f32.h fit. */
#ifndef MOTE_CONV2D_BLOCKS_F32_FITS_H
#define MOTE_CONV2D_BLOCKS_F32_FITS_H

#include "mote_conv2d_blocks_f32.h"
#include "mote_conv2d_f32_fits.h"

static inline int mote_conv2d_blocks_f32_fits(const mote_conv2d_blocks_f32_t *p, const mote_room_t *room) {
    return mote_conv2d_f32_fits(p, room);
}

#endif
