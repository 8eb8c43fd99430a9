/* mote_transpose_conv_fits.h: checks of the parameters of mote_transpose_conv.h. */
#ifndef MOTE_TRANSPOSE_CONV_FITS_H
#define MOTE_TRANSPOSE_CONV_FITS_H

#include "mote_common_fits.h"
#include "mote_transpose_conv.h"

/* What their structs begin with. */
typedef struct {
    int32_t in_rows, in_columns, in_channels, out_rows, out_columns, out_channels;
} mote_transposed_t;

/* Whether rows have room, of elements of a size. */
static inline int mote_transposed_fits(const mote_transposed_t *t, const mote_spread_t *rows, const mote_spread_t *columns,
                                       const mote_room_t *room, uint32_t size) {
    const uint32_t in = mote_bytes_of(t->in_columns, t->in_channels, size);
    const uint32_t out = mote_bytes_of(t->out_columns, t->out_channels, size);
    if (!mote_counts(t->in_rows | t->in_columns | t->in_channels | t->out_rows | t->out_columns | t->out_channels) ||
        !mote_steps_short(rows->taps | rows->stride | rows->pad | columns->taps | columns->stride | columns->pad) ||
        rows->stride == 0 || columns->stride == 0 || t->out_rows == 0 || room->lo < 0) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROW) {
        return mote_spread_taps(rows, 0) <= room->taps[0] && mote_takes(room, 0, in, size) &&
               mote_gives(room, out, size);
    }
    return mote_asks_rows(room) && mote_spread_taps(rows, 0) <= MOTE_MAX_TAPS &&
           mote_takes(room, 0, mote_images_bytes(room->hi, t->out_rows, t->in_rows, in), size) &&
           mote_gives(room, mote_much_times((uint32_t)room->hi, out), size);
}

#endif
