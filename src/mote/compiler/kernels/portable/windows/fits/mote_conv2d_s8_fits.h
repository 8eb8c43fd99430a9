/* mote_conv2d_s8_fits.h: checks of the parameters of mote_conv2d_s8.h. */
#ifndef MOTE_CONV2D_S8_FITS_H
#define MOTE_CONV2D_S8_FITS_H

#include "mote_conv2d_s8.h"
#include "mote_gemm_s8_fits.h"

/* Whether the rows of a patch have room, and two windows of `depth` elements the working memory; `out` is what is
 * written of an output row. */
static inline int mote_patch_fits(const mote_patch_t *p, const mote_room_t *room, int32_t depth, uint32_t out) {
    return mote_span_fits(&p->cols) && mote_counts(depth) &&
           mote_window_fits(&p->rows, room, mote_bytes_of(p->cols.in_size, p->in_channels, 1), out, 1) &&
           mote_count(p->rows.taps, p->cols.taps, p->in_channels, 1) <= (uint32_t)depth &&
           2 * (uint32_t)depth <= room->scratch;
}

/* Whether windows that are put into the working memory fit what they are multiplied with. */
static inline int mote_gemm_windows_fit(const mote_patch_t *patch, const mote_gemm_s8_t *g, const mote_room_t *room) {
    return mote_gemm_fits(g, room) &&
           mote_patch_fits(patch, room, g->depth, mote_gemm_bytes(g, patch->cols.out_size));
}

#endif
