/* mote_dot_s8_fits.h: checks of `mote_gemm_s8_t`. */
#ifndef MOTE_DOT_S8_FITS_H
#define MOTE_DOT_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_dot_s8.h"

/* Whether there are weights and constants for all channels. */
static inline int mote_gemm_fits(const mote_gemm_s8_t *g, const mote_room_t *room) {
    return mote_counts(g->depth | g->channels | g->pixel) && g->channels > 0 && g->pixel > 0 &&
           mote_holds(room, g->weights,
                      mote_much_times((uint32_t)(g->channels + 1) / 2, (uint32_t)(g->depth + 3) / 4 * 8), 4) &&
           mote_channels_fit(g->channel, room, g->channels, mote_least_shift(&g->output));
}

/* Bytes of so many output pixels: the last one ends with its last channel. */
static inline uint32_t mote_gemm_bytes(const mote_gemm_s8_t *g, int32_t pixels) {
    return pixels > 0 ? mote_much_plus(mote_bytes_of(pixels - 1, g->pixel, 1), mote_size(g->channels)) : 0;
}

#endif
