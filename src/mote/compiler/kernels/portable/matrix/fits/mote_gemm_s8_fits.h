/* mote_gemm_s8_fits.h: checks of `mote_gemm_s8_t`. */
#ifndef MOTE_GEMM_S8_FITS_H
#define MOTE_GEMM_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_gemm_s8.h"

/* Whether there are weights for all channels. */
static inline int mote_gemm_holds(const mote_gemm_s8_t *g, const mote_room_t *room) {
    return mote_counts(g->depth | g->channels | g->pixel) && g->channels > 0 && g->pixel > 0 &&
           mote_holds(room, g->weights,
                      mote_much_times((uint32_t)(g->channels + 1) / 2, (uint32_t)(g->depth + 3) / 4 * 8), 4);
}

/* The same for weights and constants. */
static inline int mote_gemm_fits(const mote_gemm_s8_t *g, const mote_room_t *room) {
    return mote_gemm_holds(g, room) && mote_channels_fit(g->channel, room, g->channels, mote_least_shift(&g->output));
}

/* Bytes of so many output pixels: the last one ends with its last channel. */
static inline uint32_t mote_gemm_bytes(const mote_gemm_s8_t *g, int32_t pixels) {
    return pixels > 0 ? mote_much_plus(mote_bytes_of(pixels - 1, g->pixel, 1), mote_size(g->channels)) : 0;
}

/* Whether pixels that are vectors of their own have room. */
static inline int mote_gemm_pixels_fit(const mote_gemm_s8_t *g, const mote_room_t *room) {
    return mote_asks_units(room) && mote_takes(room, 0, mote_bytes_of(room->hi, g->depth, 1), 1) &&
           mote_gives(room, mote_gemm_bytes(g, room->hi), 1);
}

#endif
