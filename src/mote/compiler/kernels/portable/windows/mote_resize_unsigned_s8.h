/* mote_resize_unsigned_s8.h: images of a uint8 model in another size by linear interpolation in single precision. */
#ifndef MOTE_RESIZE_UNSIGNED_S8_H
#define MOTE_RESIZE_UNSIGNED_S8_H

#include "mote_common.h"

/* Output row y lies between input rows row[2 * y] and row[2 * y + 1], row_weight[y] of the way. Columns likewise. */
typedef struct {
    int32_t in_rows, out_rows; /* of one image */
    int32_t in_stride;         /* elements of an input row */
    int32_t out_columns, channels;
    const int16_t *row;
    const float *row_weight;
    const int16_t *column;
    const float *column_weight;
} mote_resize_unsigned_s8_t;

/* One of the four pixels times its weights. It is rounded before it is added: a function of its own, or memory, keeps
 * compilers from fusing the product with the addition. */
MOTE_NOINLINE float mote_resize_part(int32_t pixel, float along, float across) {
#if defined(__GNUC__)
    return (float)(pixel + 128) * along * across;
#else
    const volatile float part = (float)(pixel + 128) * along * across;
    return part;
#endif
}

/* Output row y (of all images) from the two input rows it lies between. */
static inline void mote_resize_unsigned_s8_row(const mote_resize_unsigned_s8_t *p, const int8_t *const *rows, int32_t y,
                                               int8_t *out) {
    const float down = p->row_weight[y % p->out_rows], up = 1.0f - down;
    for (int32_t x = 0; x < p->out_columns; x++) {
        const float right = p->column_weight[x], left = 1.0f - right;
        const int32_t first = p->column[2 * x] * p->channels, second = p->column[2 * x + 1] * p->channels;
        for (int32_t c = 0; c < p->channels; c++) {
            float sum = mote_resize_part(rows[0][first + c], up, left);
            sum += mote_resize_part(rows[1][first + c], down, left);
            sum += mote_resize_part(rows[0][second + c], up, right);
            sum += mote_resize_part(rows[1][second + c], down, right);
            const float near = sum + 0.5f, inside = !(near > 0.0f) ? 0.0f : near > 255.0f ? 255.0f : near;
            *out++ = (int8_t)((int32_t)inside - 128);
        }
    }
}

static inline void mote_resize_unsigned_s8(const mote_resize_unsigned_s8_t *p, const int8_t *in, int8_t *out,
                                           int32_t lo, int32_t hi) {
    for (int32_t y = lo; y < hi; y++) {
        const int32_t image = y / p->out_rows, row = 2 * (y - image * p->out_rows);
        const int8_t *const from = in + image * p->in_rows * p->in_stride;
        const int8_t *const rows[2] = {from + p->row[row] * p->in_stride, from + p->row[row + 1] * p->in_stride};
        mote_resize_unsigned_s8_row(p, rows, y, out + y * p->out_columns * p->channels);
    }
}

#endif
