/* mote_offset_s8_fits.h: checks of the parameters of mote_offset_s8.h. */
#ifndef MOTE_OFFSET_S8_FITS_H
#define MOTE_OFFSET_S8_FITS_H

#include "mote_conv2d_s8_fits.h"
#include "mote_offset_s8.h"
#include "mote_pointwise_s8_fits.h"

static inline int mote_pointwise_offset_s8_fits(const mote_pointwise_offset_s8_t *p, const mote_room_t *room) {
    return mote_gemm_vectors_fit(&p->layer.gemm, room);
}

static inline int mote_conv2d_offset_s8_fits(const mote_conv2d_offset_s8_t *p, const mote_room_t *room) {
    return mote_gemm_windows_fit(&p->patch, &p->layer.gemm, room);
}

#endif
