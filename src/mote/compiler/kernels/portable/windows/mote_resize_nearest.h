/* mote_resize_nearest.h: images of another size, each pixel a copy of the nearest one. Any element type. */
#ifndef MOTE_RESIZE_NEAREST_H
#define MOTE_RESIZE_NEAREST_H

#include "mote_move_items.h"

typedef struct {
    int32_t in_rows, out_rows; /* of one image */
    int32_t in_stride;         /* bytes of an input row */
    int32_t out_columns;
    int32_t pixel;         /* bytes of a pixel */
    const int16_t *row;    /* the input row of each output row */
    const int16_t *column; /* the input column of each output column */
} mote_resize_nearest_t;

/* How often each column is repeated, one after another; 0 where that differs. */
static inline int32_t mote_resize_repeats(const mote_resize_nearest_t *p) {
    int32_t times = 1, columns;
    while (times < p->out_columns && p->column[times] == 0) {
        times++;
    }
    columns = p->out_columns / times;
    for (int32_t x = 0; x < columns; x++) {
        for (int32_t i = 0; i < times; i++) {
            if (p->column[x * times + i] != x) {
                return 0;
            }
        }
    }
    return columns * times == p->out_columns ? times : 0;
}

/* One output row from the input row nearest to it. */
static inline void mote_resize_nearest_row(const mote_resize_nearest_t *p, const int8_t *const *rows, int8_t *out) {
    const int32_t times = mote_resize_repeats(p);
    if (times > 0) {
        for (int32_t i = 0; i < times; i++) {
            mote_move_items(rows[0], out + i * p->pixel, p->out_columns / times, p->pixel, times * p->pixel, p->pixel);
        }
        return;
    }
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
            mote_move_items(target - stride, target, 1, 0, 0, stride);
        } else {
            mote_resize_nearest_row(p, &source, target);
        }
        before = source;
    }
}

#endif
