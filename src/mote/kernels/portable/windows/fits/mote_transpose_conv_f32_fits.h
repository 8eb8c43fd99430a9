/* mote_transpose_conv_f32_fits.h: checks of the parameters of mote_transpose_conv_f32.h. */
#ifndef MOTE_TRANSPOSE_CONV_F32_FITS_H
#define MOTE_TRANSPOSE_CONV_F32_FITS_H

#include "mote_transpose_conv_f32.h"
#include "mote_transpose_conv_fits.h"

static inline int mote_transpose_conv_f32_fits(const mote_transpose_conv_f32_t *p, const mote_room_t *room) {
    const mote_transposed_t t = {p->in_rows,  p->in_columns,  p->in_channels,
                                 p->out_rows, p->out_columns, p->out_channels};
    return mote_transposed_fits(&t, &p->rows, &p->columns, room, 4) &&
           mote_array_fits(room, p->weights, p->out_channels, p->rows.taps, p->columns.taps, p->in_channels, 4) &&
           mote_array_fits(room, p->bias, p->out_channels, 1, 1, 1, 4);
}

#endif
