/* mote_resize_fits.h: checks of what kernels share that make images of another size. */
#ifndef MOTE_RESIZE_FITS_H
#define MOTE_RESIZE_FITS_H

#include "mote_common_fits.h"

/* What their structs begin with. */
typedef struct {
    int32_t in_rows, out_rows, in_stride, out_columns, channels;
} mote_resized_t;

/* Whether rows have room, an output row of which is made from so many of the input. */
static inline int mote_resized_fits(const mote_resized_t *r, const mote_room_t *room, int32_t taps, uint32_t size) {
    const uint32_t in = mote_bytes_of(r->in_stride, 1, size);
    const uint32_t out = mote_bytes_of(r->out_columns, r->channels, size);
    if (!mote_counts(r->in_rows | r->out_rows | r->in_stride | r->out_columns | r->channels | room->lo) ||
        r->out_rows == 0 || r->channels == 0) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROW) {
        return taps <= room->taps[0] && !(room->outside & 1) && mote_takes(room, 0, in, size) &&
               mote_gives(room, out, size);
    }
    return mote_asks_rows(room) &&
           mote_takes(room, 0, mote_images_bytes(room->hi, r->out_rows, r->in_rows, in), size) &&
           mote_gives(room, mote_much_times((uint32_t)room->hi, out), size);
}

/* Whether all rows or columns are there that `count` others are read at, and the next ones where they have a weight, of
 * `width` bytes (0: none have). A float32 is above zero where its bits are. */
static inline int mote_resize_reads(const mote_room_t *room, const int16_t *at, int32_t count, const void *weight,
                                    uint32_t width, int32_t size) {
    int fits = mote_array_fits(room, at, count, 1, 1, 1, 2) &&
               (width == 0 || mote_array_fits(room, weight, count, 1, 1, 1, width));
    for (int32_t i = 0; fits && i < count; i++) {
        int32_t bits = 0;
        if (width == 2) {
            bits = ((const int16_t *)weight)[i];
        } else if (width == 4) {
            memcpy(&bits, (const uint8_t *)weight + 4 * i, 4);
        }
        fits = at[i] >= 0 && (int32_t)at[i] + (bits > 0) < size;
    }
    return fits;
}

#endif
