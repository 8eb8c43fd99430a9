/* mote_resize_nearest.h: images of another size, each pixel a copy of the nearest one. Any element type. */
#ifndef MOTE_RESIZE_NEAREST_H
#define MOTE_RESIZE_NEAREST_H

#include "mote_common.h"

typedef struct {
    int32_t in_rows, out_rows; /* of one image */
    int32_t in_stride;         /* bytes of an input row */
    int32_t out_columns;
    int32_t pixel;         /* bytes of a pixel */
    const int16_t *row;    /* the input row of each output row */
    const int16_t *column; /* the input column of each output column */
} mote_resize_nearest_t;

/* One output row from the input row nearest to it. */
static inline void mote_resize_nearest_row(const mote_resize_nearest_t *p, const int8_t *const *rows, int8_t *out) {
    for (int32_t x = 0; x < p->out_columns; x++, out += p->pixel) {
        memcpy(out, rows[0] + p->column[x] * p->pixel, (size_t)p->pixel);
    }
}

static inline void mote_resize_nearest(const mote_resize_nearest_t *p, const void *in, void *out, int32_t lo,
                                       int32_t hi) {
    const int32_t stride = p->out_columns * p->pixel;
    const int8_t *before = NULL;
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows, row = p->row[y - image * p->out_rows];
        const int8_t *source = (const int8_t *)in + (image * p->in_rows + row) * p->in_stride;
        int8_t *target = (int8_t *)out + y * stride;
        if (source == before) {
            memcpy(target, target - stride, (size_t)stride);
        } else {
            mote_resize_nearest_row(p, &source, target);
        }
        before = source;
    }
}

#endif
