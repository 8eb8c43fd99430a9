/* mote_pool_fits.h: checks of what pools of all types share. */
#ifndef MOTE_POOL_FITS_H
#define MOTE_POOL_FITS_H

#include "mote_running_sums_fits.h"

/* Whether windows have room, whose columns lie side by side. */
static inline int mote_pool_fits(const mote_window_t *rows, const mote_span_t *cols, const mote_room_t *room,
                                 int32_t channels, uint32_t size) {
    return cols->spread == 1 && mote_pixels_fit(rows, cols, room, channels, channels, size);
}

/* Whether every window has a pixel inside of the image, which averages are divided by. */
static inline int mote_pool_filled(const mote_window_t *rows, const mote_span_t *cols, const mote_room_t *room) {
    const int64_t last = (int64_t)(rows->out_rows - 1) * rows->step - rows->pad;
    if (!mote_span_filled(cols)) {
        return 0;
    }
    return room->form == MOTE_RUN_ROW ? room->inside > 0 && rows->taps >= room->taps[0]
                                      : rows->spread == 1 && rows->step >= 0 && rows->in_rows > 0 &&
                                            rows->pad < rows->taps && last < rows->in_rows;
}

/* Whether an input row has room, and what is kept and made of it: `sum` bytes for each output. */
static inline int mote_pool_adds(const mote_span_t *cols, const mote_room_t *room, int32_t channels, uint32_t sum,
                                 uint32_t size) {
    return mote_span_fits(cols) && cols->spread == 1 && mote_counts(channels) && channels > 0 &&
           mote_sums_have(room, mote_bytes_of(cols->out_size, channels, 1), sum, size) &&
           mote_takes(room, 0, mote_bytes_of(cols->in_size, channels, size), size);
}

#endif
