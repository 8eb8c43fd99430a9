/* mote_running_sums_fits.h: checks of what kernels share that are given one input row at a time. */
#ifndef MOTE_RUNNING_SUMS_FITS_H
#define MOTE_RUNNING_SUMS_FITS_H

#include "mote_common_fits.h"
#include "mote_running_sums.h"

/* Whether there is room for `count` running sums and outputs, of so many bytes each. */
static inline int mote_sums_have(const mote_room_t *room, uint32_t count, uint32_t sum, uint32_t out) {
    return mote_asks_sums(room) && mote_much_times(count, sum) <= room->sums &&
           mote_gives(room, mote_much_times(count, out), out);
}

/* The same for pixels whose sums become int8 with constants of their channels. */
static inline int mote_sums_fit(const mote_channel_t *channel, const mote_room_t *room, int32_t channels, int32_t pixels,
                                const mote_output_t *output) {
    return mote_sums_have(room, mote_bytes_of(pixels, channels, 1), 4, 1) &&
           mote_channels_fit(channel, room, channels, mote_least_shift(output));
}

#endif
