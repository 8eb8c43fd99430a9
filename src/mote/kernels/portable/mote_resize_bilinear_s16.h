/* mote_resize_bilinear_s16.h: int16 images of another size by linear interpolation, in 10-bit fixed point. */
#ifndef MOTE_RESIZE_BILINEAR_S16_H
#define MOTE_RESIZE_BILINEAR_S16_H

#include "mote_common.h"

/* Output row y lies between input rows row[y] and row[y] + 1, row_weight[y] / 1024 of the way; with weight
 * 0 the second one is not read (it may not exist). Columns likewise. */
typedef struct {
    int32_t in_rows, out_rows; /* of one image */
    int32_t in_stride;         /* elements of an input row */
    int32_t out_columns, channels;
    const int16_t *row, *row_weight;
    const int16_t *column, *column_weight;
} mote_resize_bilinear_s16_t;

/* Output row y (of all images) from the two input rows it lies between. */
static inline void mote_resize_bilinear_s16_row(const mote_resize_bilinear_s16_t *p, const int16_t *const *rows,
                                               int32_t y, int16_t *out) {
    const int32_t weight = p->row_weight[y % p->out_rows];
    const int16_t *const top = rows[0], *const bottom = weight > 0 ? rows[1] : top;
    for (int32_t x = 0; x < p->out_columns; x++) {
        const int32_t w = p->column_weight[x], right = w > 0 ? p->channels : 0;
        const int16_t *a = top + p->column[x] * p->channels, *b = bottom + p->column[x] * p->channels;
        for (int32_t c = 0; c < p->channels; c++, a++, b++) {
            const int32_t above = a[0] * (1024 - w) + a[right] * w;
            const int32_t below = b[0] * (1024 - w) + b[right] * w;
            const int64_t v = (int64_t)above * (1024 - weight) + (int64_t)below * weight;
            *out++ = (int16_t)((v + (v >> 63) + ((int32_t)1 << 19)) >> 20); /* halves away from zero */
        }
    }
}

static inline void mote_resize_bilinear_s16(const mote_resize_bilinear_s16_t *p, const int16_t *in, int16_t *out,
                                           int32_t lo, int32_t hi) {
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows, row = p->row[y - image * p->out_rows];
        const int16_t *const first = in + (image * p->in_rows + row) * p->in_stride;
        const int16_t *const rows[2] = {first, first + p->in_stride};
        mote_resize_bilinear_s16_row(p, rows, y, out + y * p->out_columns * p->channels);
    }
}

#endif
