/* mote_blockwise_fits.h: checks of the parameters of mote_blockwise.h. */
#ifndef MOTE_BLOCKWISE_FITS_H
#define MOTE_BLOCKWISE_FITS_H

#include "mote_blockwise.h"
#include "mote_common_fits.h"
#include "mote_index_fits.h"

/* Bytes of a block, a byte for each of `each` elements; -1 where it is too large. */
static inline int32_t mote_block_bytes(int32_t size, int32_t each) {
    return mote_within(size, 1, MOTE_LARGEST) ? (size + each - 1) / each : -1;
}

/* Whether there are so many rows of blocks, and their scales. */
static inline int mote_blocks_fit(const mote_room_t *room, const void *codes, const float *scale, int32_t rows,
                                  int32_t blocks, int32_t bytes) {
    return mote_array_fits(room, codes, rows, blocks, bytes, 1, 1) &&
           mote_array_fits(room, scale, rows, blocks, 1, 1, 4);
}

static inline int mote_blocks_times_fit(const mote_fully_connected_blockwise_t *p, const mote_room_t *room,
                                        int32_t each) {
    const int32_t bytes = mote_block_bytes(p->size, each);
    return mote_vectors_fit(room, p->depth, p->channels, 4) && bytes > 0 && p->depth % p->size == 0 &&
           mote_blocks_fit(room, p->weights, p->scale, p->channels, p->depth / p->size, bytes) &&
           mote_array_fits(room, p->bias, p->channels, 1, 1, 1, 4);
}

static inline int mote_blocks_rows_fit(const mote_lookup_blockwise_t *p, const mote_room_t *room, int32_t each) {
    const int32_t bytes = mote_block_bytes(p->size, each);
    return mote_of_tensors(room) && bytes > 0 && mote_blocks_fit(room, p->table, p->scale, p->rows, p->blocks, bytes) &&
           mote_indices_fit(room, 0, mote_count(p->count, 1, 1, 1), 4) &&
           mote_gives(room, mote_much_times(mote_count(p->count, p->blocks, p->size, 1), 4), 4);
}

#endif
