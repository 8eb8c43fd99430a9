/* mote_resize_bilinear_s8_fits.h: checks of the parameters of mote_resize_bilinear_s8.h. */
#ifndef MOTE_RESIZE_BILINEAR_S8_FITS_H
#define MOTE_RESIZE_BILINEAR_S8_FITS_H

#include "mote_resize_bilinear_s8.h"
#include "mote_resize_fits.h"

static inline int mote_resize_bilinear_s8_fits(const mote_resize_bilinear_s8_t *p, const mote_room_t *room) {
    const mote_resized_t r = {p->in_rows, p->out_rows, p->in_stride, p->out_columns, p->channels};
    return mote_resized_fits(&r, room, 2, 1) &&
           mote_resize_reads(room, p->row, p->out_rows, p->row_weight, 2, p->in_rows) &&
           mote_resize_reads(room, p->column, p->out_columns, p->column_weight, 2, p->in_stride / p->channels);
}

#endif
