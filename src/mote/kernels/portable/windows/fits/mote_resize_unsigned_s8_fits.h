/* mote_resize_unsigned_s8_fits.h: checks of the parameters of mote_resize_unsigned_s8.h. */
#ifndef MOTE_RESIZE_UNSIGNED_S8_FITS_H
#define MOTE_RESIZE_UNSIGNED_S8_FITS_H

#include "mote_resize_fits.h"
#include "mote_resize_unsigned_s8.h"

static inline int mote_resize_unsigned_s8_fits(const mote_resize_unsigned_s8_t *p, const mote_room_t *room) {
    const mote_resized_t r = {p->in_rows, p->out_rows, p->in_stride, p->out_columns, p->channels};
    return mote_resized_fits(&r, room, 2, 1) && mote_array_fits(room, p->row_weight, p->out_rows, 1, 1, 1, 4) &&
           mote_array_fits(room, p->column_weight, p->out_columns, 1, 1, 1, 4) &&
           mote_resize_reads(room, p->row, 2 * p->out_rows, NULL, 0, p->in_rows) &&
           mote_resize_reads(room, p->column, 2 * p->out_columns, NULL, 0, p->in_stride / p->channels);
}

#endif
