/* mote_resize_bilinear_f32.h: float32 images of another size by linear interpolation. */
#ifndef MOTE_RESIZE_BILINEAR_F32_H
#define MOTE_RESIZE_BILINEAR_F32_H

#include "mote_common.h"

/* Output row y lies between input rows row[y] and row[y] + 1, row_weight[y] of the way; with weight 0 the
 * second one is not read (it may not exist). Columns likewise. */
typedef struct {
    int32_t in_rows, out_rows; /* of one image */
    int32_t in_stride;         /* elements of an input row */
    int32_t out_columns, channels;
    const int16_t *row;
    const float *row_weight;
    const int16_t *column;
    const float *column_weight;
} mote_resize_bilinear_f32_t;

/* Output row y (of all images) from the two input rows it lies between. */
static inline void mote_resize_bilinear_f32_row(const mote_resize_bilinear_f32_t *p, const float *const *rows,
                                                int32_t y, float *out) {
    const float weight = p->row_weight[y % p->out_rows];
    const float *const top = rows[0], *const bottom = weight > 0.0f ? rows[1] : top;
    for (int32_t x = 0; x < p->out_columns; x++) {
        const float w = p->column_weight[x];
        const int32_t right = w > 0.0f ? p->channels : 0;
        const float *a = top + p->column[x] * p->channels, *b = bottom + p->column[x] * p->channels;
        for (int32_t c = 0; c < p->channels; c++, a++, b++) {
            const float above = a[0] * (1.0f - w) + a[right] * w;
            const float below = b[0] * (1.0f - w) + b[right] * w;
            *out++ = above * (1.0f - weight) + below * weight;
        }
    }
}

static inline void mote_resize_bilinear_f32(const mote_resize_bilinear_f32_t *p, const float *in, float *out,
                                            int32_t lo, int32_t hi) {
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows, row = p->row[y - image * p->out_rows];
        const float *const first = in + (image * p->in_rows + row) * p->in_stride;
        const float *const rows[2] = {first, first + p->in_stride};
        mote_resize_bilinear_f32_row(p, rows, y, out + y * p->out_columns * p->channels);
    }
}

#endif
