/* mote_resize_bilinear_fits.h: checks of the parameters of mote_resize_bilinear.h. */
#ifndef MOTE_RESIZE_BILINEAR_FITS_H
#define MOTE_RESIZE_BILINEAR_FITS_H

#include "mote_resize_bilinear.h"
#include "mote_resize_fits.h"

#define MOTE_RESIZE_BILINEAR_FITS(name, value_t, weight_t) \
    static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        const mote_resized_t r = {p->in_rows, p->out_rows, p->in_stride, p->out_columns, p->channels}; \
        const uint32_t weight = sizeof(weight_t); \
        return mote_resized_fits(&r, room, 2, sizeof(value_t)) && \
               mote_resize_reads(room, p->row, p->out_rows, p->row_weight, weight, p->in_rows) && \
               mote_resize_reads(room, p->column, p->out_columns, p->column_weight, weight, p->in_stride / p->channels); \
    }

MOTE_RESIZE_BILINEAR_FITS(resize_bilinear_s8, int8_t, int16_t)
MOTE_RESIZE_BILINEAR_FITS(resize_bilinear_s16, int16_t, int16_t)
MOTE_RESIZE_BILINEAR_FITS(resize_bilinear_f32, float, float)

#endif
