/* mote_conv3d_f32_fits.h: checks of the parameters of mote_conv3d_f32.h. */
#ifndef MOTE_CONV3D_F32_FITS_H
#define MOTE_CONV3D_F32_FITS_H

#include "mote_conv2d_f32_fits.h"
#include "mote_conv3d_f32.h"

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

static inline int mote_conv3d_f32_fits(const mote_conv3d_f32_t *p, const mote_room_t *room) {
    const mote_conv2d_f32_t *plane = &p->plane;
    const mote_span_t *s = &plane->cols;
    const uint32_t in = mote_bytes_of(plane->rows.in_stride, 1, 4), out = mote_bytes_of(plane->rows.out_stride, 1, 4);
    return mote_conv2d_f32_holds(plane, room) && mote_span_fits(s) && in != MOTE_MUCH && out != MOTE_MUCH &&
           mote_count(p->deep.taps, p->high.taps, 1, 1) == (uint32_t)plane->rows.taps &&
           mote_bytes_of(s->in_size, plane->in_channels, 4) <= in &&
           mote_bytes_of(s->out_size, plane->out_channels, 4) <= out &&
           mote_volumes_fit(&p->deep, &p->high, room, in, out);
}

static inline int mote_conv3d_transpose_f32_fits(const mote_conv3d_transpose_f32_t *p, const mote_room_t *room) {
    const uint32_t in = mote_bytes_of(p->wide.in_size, p->in_channels, 4);
    const uint32_t out = mote_bytes_of(p->wide.out_size, p->out_channels, 4);
    const int32_t taps = (int32_t)mote_count(p->deep.taps, p->high.taps, 1, 1);
    return p->deep.step > 0 && p->high.step > 0 && p->wide.step > 0 && mote_span_fits(&p->wide) &&
           mote_array_fits(room, p->weights, taps, p->wide.taps, p->out_channels, p->in_channels, 4) &&
           mote_array_fits(room, p->bias, p->out_channels, 1, 1, 1, 4) &&
           mote_volumes_fit(&p->deep, &p->high, room, in, out);
}

#endif
