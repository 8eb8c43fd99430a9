/* mote_resize_nearest_fits.h: checks of the parameters of mote_resize_nearest.h. */
#ifndef MOTE_RESIZE_NEAREST_FITS_H
#define MOTE_RESIZE_NEAREST_FITS_H

#include "mote_resize_fits.h"
#include "mote_resize_nearest.h"

static inline int mote_resize_nearest_fits(const mote_resize_nearest_t *p, const mote_room_t *room) {
    const mote_resized_t r = {p->in_rows, p->out_rows, p->in_stride, p->out_columns, p->pixel};
    return mote_resized_fits(&r, room, 1, 1) && mote_resize_reads(room, p->row, p->out_rows, NULL, 0, p->in_rows) &&
           mote_resize_reads(room, p->column, p->out_columns, NULL, 0, p->in_stride / p->pixel);
}

#endif
