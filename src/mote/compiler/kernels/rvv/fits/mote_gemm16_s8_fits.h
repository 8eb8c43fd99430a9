/* mote_gemm16_s8_fits.h: checks of the parameters of mote_gemm16_s8.h. */
#ifndef MOTE_GEMM16_S8_FITS_H
#define MOTE_GEMM16_S8_FITS_H

#include "mote_conv2d_s8_fits.h"
#include "mote_gemm16_s8.h"
#include "mote_rvv_fits.h"

/* Whether there are weights and constants for all channels. */
static inline int mote_gemm16_fits(const mote_gemm16_t *g, const mote_room_t *room) {
    return mote_counts(g->depth | g->channels | g->pixel) && g->pixel > 0 &&
           mote_rvv_output_fits(&g->output, room, g->channels) &&
           mote_holds(room, g->weights, mote_bytes_of(g->channels, g->depth, 1), 1);
}

/* Bytes of so many output pixels: the last one ends with its last channel. */
static inline uint32_t mote_gemm16_bytes(const mote_gemm16_t *g, int32_t pixels) {
    return pixels > 0 ? mote_much_plus(mote_bytes_of(pixels - 1, g->pixel, 1), mote_size(g->channels)) : 0;
}

/* Bytes of the list, of the line of zero points and of copies of four windows. */
static inline uint32_t mote_conv16_scratch(const mote_conv16_s8_t *p) {
    const uint32_t list = mote_bytes_of(p->patch.rows.taps, 4, (uint32_t)sizeof(int8_t *));
    const uint32_t line = mote_bytes_of(p->patch.cols.taps, p->patch.in_channels, 1);
    return mote_much_plus(mote_much_plus(list, line), mote_much_times(4, mote_size(p->gemm.depth)));
}

#endif
