/* mote_gemm4x3_s8_fits.h: checks of the parameters of mote_gemm4x3_s8.h. */
#ifndef MOTE_GEMM4X3_S8_FITS_H
#define MOTE_GEMM4X3_S8_FITS_H

#include "mote_gemm4x3_s8.h"
#include "mote_lanes_s8_fits.h"

/* Whether lists of spilled weights name inputs that there are. */
static inline int mote_gemm4x3_spills(const int16_t *spill, const mote_room_t *room, int32_t channels, int32_t depth) {
    for (; channels > 0; channels--) {
        if (!mote_holds(room, spill, 2, 2) || spill[0] < 0 || !mote_holds(room, spill, 2 + 4 * (uint32_t)spill[0], 2)) {
            return 0;
        }
        for (int32_t count = *spill++; count > 0; count--, spill += 2) {
            if (!mote_within(spill[0], 0, depth - 1)) {
                return 0;
            }
        }
    }
    return 1;
}

/* Whether there are weights and constants for all channels, and room for the words of `inputs` in a sum, the tail behind
 * them, and so many bytes more. */
static inline int mote_gemm4x3_fits(const mote_gemm4x3_t *g, const mote_room_t *room, uint32_t inputs, uint32_t more) {
    return mote_counts(g->depth | g->channels | g->pixel | g->threes | g->twos) && g->depth > 0 && g->depth % 4 == 0 &&
           inputs <= (uint32_t)g->depth && g->pixel > 0 && g->channels > 0 &&
           mote_much_plus(mote_much_times((uint32_t)g->threes, 3), 2 * (uint32_t)g->twos) == (uint32_t)g->channels &&
           mote_holds(room, g->weights, mote_bytes_of(g->channels, g->depth, 1), 1) &&
           mote_lanes_channels_fit(g->channel, room, g->channels) &&
           mote_gemm4x3_spills(g->spill, room, g->channels, g->depth) &&
           mote_much_plus(mote_much_plus((uint32_t)g->depth * 8, 4 * MOTE_GEMM4X3_TAIL), more) <= room->scratch;
}

/* Bytes of so many output pixels: the last one ends with its last channel. */
static inline uint32_t mote_gemm4x3_bytes(const mote_gemm4x3_t *g, int32_t pixels) {
    return pixels > 0 ? mote_much_plus(mote_bytes_of(pixels - 1, g->pixel, 1), mote_size(g->channels)) : 0;
}

static inline int mote_pointwise4x3_fits(const mote_pointwise4x3_t *p, const mote_room_t *room) {
    return mote_gemm4x3_fits(&p->gemm, room, mote_size(p->in_channels), 0) && mote_asks_units(room) &&
           mote_takes(room, 0, mote_bytes_of(room->hi, p->in_channels, 1), 1) &&
           mote_gives(room, mote_gemm4x3_bytes(&p->gemm, room->hi), 1);
}

static inline int mote_conv4x3_fits(const mote_conv4x3_t *p, const mote_room_t *room) {
    const mote_patch_t *patch = &p->patch;
    const uint32_t out = mote_gemm4x3_bytes(&p->gemm, patch->cols.out_size);
    return mote_span_fits(&patch->cols) &&
           mote_gemm4x3_fits(&p->gemm, room, mote_count(patch->rows.taps, patch->cols.taps, patch->in_channels, 1),
                             mote_bytes_of(patch->cols.taps, patch->in_channels, 2)) &&
           mote_window_fits(&patch->rows, room, mote_bytes_of(patch->cols.in_size, patch->in_channels, 1), out, 1) &&
           (room->form == MOTE_RUN_ROW ||
            mote_bytes_of(patch->cols.out_size, p->gemm.pixel, 1) <= (uint32_t)patch->rows.out_stride);
}

#endif
