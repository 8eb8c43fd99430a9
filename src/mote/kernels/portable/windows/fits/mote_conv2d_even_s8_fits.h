/* mote_conv2d_even_s8_fits.h: checks of the parameters of mote_conv2d_even_s8.h. */
#ifndef MOTE_CONV2D_EVEN_S8_FITS_H
#define MOTE_CONV2D_EVEN_S8_FITS_H

#include "mote_conv2d_even_s8.h"
#include "mote_conv2d_s8_fits.h"
#include "mote_even_fits.h"

/* Whether there are weights and constants for all channels. */
static inline int mote_gemm_even_fits(const mote_gemm_s8_t *g, const mote_room_t *room) {
    return mote_counts(g->depth | g->channels | g->pixel) && g->channels > 0 && g->pixel > 0 &&
           mote_holds(room, g->weights,
                      mote_much_times((uint32_t)(g->channels + 1) / 2, (uint32_t)(g->depth + 3) / 4 * 8), 4) &&
           mote_evens_fit(g->channel, room, g->channels);
}

static inline int mote_pointwise_even_s8_fits(const mote_pointwise_even_s8_t *p, const mote_room_t *room) {
    const mote_gemm_s8_t *g = &p->gemm;
    return mote_asks_units(room) && mote_gemm_even_fits(g, room) &&
           mote_takes(room, 0, mote_bytes_of(room->hi, g->depth, 1), 1) &&
           mote_gives(room, mote_gemm_bytes(g, room->hi), 1);
}

static inline int mote_conv2d_even_s8_fits(const mote_conv2d_even_s8_t *p, const mote_room_t *room) {
    return mote_gemm_even_fits(&p->gemm, room) &&
           mote_patch_fits(&p->patch, room, p->gemm.depth, mote_gemm_bytes(&p->gemm, p->patch.cols.out_size));
}

#endif
