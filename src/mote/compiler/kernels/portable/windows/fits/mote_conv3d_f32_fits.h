/* mote_conv3d_f32_fits.h: checks of the parameters of mote_conv3d_f32.h. */
#ifndef MOTE_CONV3D_F32_FITS_H
#define MOTE_CONV3D_F32_FITS_H

#include "mote_conv3d_f32.h"
#include "mote_layer_fits.h"

/* Whether rows of volumes have room, `in` and `out` bytes of each. */
static inline int mote_volumes_fit(const mote_span_t *deep, const mote_span_t *high, const mote_room_t *room,
                                   uint32_t in, uint32_t out) {
    const uint32_t taps = mote_count(deep->taps, high->taps, 1, 1);
    const uint32_t in_rows = mote_count(deep->in_size, high->in_size, 1, 1);
    const uint32_t out_rows = mote_count(deep->out_size, high->out_size, 1, 1);
    if (room->form == MOTE_RUN_ROW) {
        return taps <= mote_size(room->taps[0]) && mote_takes(room, 0, in, 4) && mote_gives(room, out, 4);
    }
    return mote_asks_rows(room) && taps <= MOTE_MAX_TAPS && in_rows < MOTE_LARGEST && out_rows < MOTE_LARGEST &&
           mote_takes(room, 0, mote_images_bytes(room->hi, (int32_t)out_rows, (int32_t)in_rows, in), 4) &&
           mote_gives(room, mote_much_times((uint32_t)room->hi, out), 4);
}

#endif
