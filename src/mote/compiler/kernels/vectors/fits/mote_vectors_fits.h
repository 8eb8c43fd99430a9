/* mote_vectors_fits.h: checks of what the kernels for vectors share. */
#ifndef MOTE_VECTORS_FITS_H
#define MOTE_VECTORS_FITS_H

#include "mote_common_fits.h"
#include "mote_vectors.h"

/* Blocks of so many channels. */
static inline int32_t mote_blocks_of(int32_t channels) { return channels / MOTE_VECTOR_BLOCK + (channels % MOTE_VECTOR_BLOCK > 0); }

/* Whether there are constants for all blocks, with shifts from `least` on. */
static inline int mote_blocks_fit(const int32_t *block, const mote_room_t *room, int32_t channels, int32_t least) {
    int fits = mote_counts(channels) && channels > 0 &&
               mote_array_fits(room, block, mote_blocks_of(channels), MOTE_VECTOR_BLOCK_CONSTANTS, 1, 1, 4);
    for (int32_t i = 0; fits && i < mote_blocks_of(channels) * MOTE_VECTOR_BLOCK; i++) {
        fits = mote_within(block[i / MOTE_VECTOR_BLOCK * MOTE_VECTOR_BLOCK_CONSTANTS + 2 * MOTE_VECTOR_BLOCK + i % MOTE_VECTOR_BLOCK], least, 31);
    }
    return fits;
}

/* Whether the columns of all windows are in rows of `width` columns that have their padding. */
static inline int mote_columns_fit(const mote_span_t *s, int32_t width) {
    const uint32_t last = mote_much_plus(mote_bytes_of(s->out_size - 1, s->step, 1), mote_bytes_of(s->taps - 1, s->spread, 1));
    return s->out_size > 0 && s->taps > 0 && mote_counts(width) && s->pad <= width && last < (uint32_t)width;
}

#endif
