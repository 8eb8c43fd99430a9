/* mote_resize_bilinear_s8.h: int8 images of another size by linear interpolation, in 10-bit fixed point. */
#ifndef MOTE_RESIZE_BILINEAR_S8_H
#define MOTE_RESIZE_BILINEAR_S8_H

#include "mote_common.h"

/* Output row y lies between input rows row[y] and row[y] + 1, row_weight[y] / 1024 of the way; with weight
 * 0 the second one is not read (it may not exist). Columns likewise. */
typedef struct {
    int32_t in_rows, out_rows; /* of one image */
    int32_t in_stride;         /* elements of an input row */
    int32_t out_columns, channels;
    const int16_t *row, *row_weight;
    const int16_t *column, *column_weight;
} mote_resize_bilinear_s8_t;

/* One output row from the two input rows it lies between, `weight` / 1024 of the way from the first. */
static inline void mote_resize_bilinear_s8_row(const mote_resize_bilinear_s8_t *p, const int8_t *const *rows,
                                               int32_t weight, int8_t *out) {
    for (int32_t x = 0; x < p->out_columns; x++) {
        const int32_t w = p->column_weight[x], right = w > 0 ? p->channels : 0;
        const int8_t *a = rows[0] + p->column[x] * p->channels, *b = rows[1] + p->column[x] * p->channels;
        for (int32_t c = 0; c < p->channels; c++, a++, b++) {
            const int32_t above = a[0] * (1024 - w) + a[right] * w;
            const int32_t below = b[0] * (1024 - w) + b[right] * w;
            const int32_t v = above * (1024 - weight) + below * weight;
            *out++ = (int8_t)((v + (v >> 31) + (1 << 19)) >> 20); /* halves away from zero */
        }
    }
}

static inline void mote_resize_bilinear_s8(const mote_resize_bilinear_s8_t *p, const int8_t *in, int8_t *out,
                                           int32_t lo, int32_t hi) {
    for (int32_t y = lo; y < hi; y++) {
        const int8_t *rows[2];
        const int32_t image = y / p->out_rows, at = y - image * p->out_rows, weight = p->row_weight[at];
        rows[0] = in + (image * p->in_rows + p->row[at]) * p->in_stride;
        rows[1] = rows[0] + (weight > 0 ? p->in_stride : 0);
        mote_resize_bilinear_s8_row(p, rows, weight, out + y * p->out_columns * p->channels);
    }
}

#endif
