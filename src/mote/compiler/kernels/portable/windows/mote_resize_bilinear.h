/* mote_resize_bilinear.h: images of another size by linear interpolation: int8 and int16 in 10-bit fixed point, and float32. */
#ifndef MOTE_RESIZE_BILINEAR_H
#define MOTE_RESIZE_BILINEAR_H

#include "mote_blend_run.h"

/* Halves away from zero. */
#define MOTE_RESIZED_S8(v) (int8_t)(((v) + ((v) >> 31) + ((int32_t)1 << 19)) >> 20)
#define MOTE_RESIZED_S16(v) (int16_t)(((v) + ((v) >> 63) + ((int32_t)1 << 19)) >> 20)
#define MOTE_RESIZED_F32(v) (v)

/* Output row y lies between input rows row[y] and row[y] + 1, row_weight[y] / one of the way; with weight 0 the second one
 * is not read (it may not exist). Columns likewise. Rows are blended in `each_t`, columns of them in `sum_t`, or by `run`. */
#define MOTE_RESIZE_BILINEAR(name, value_t, weight_t, each_t, sum_t, one, finish, run) \
    typedef struct { \
        int32_t in_rows, out_rows; /* of one image */ \
        int32_t in_stride;         /* elements of an input row */ \
        int32_t out_columns, channels; \
        const int16_t *row; \
        const weight_t *row_weight; \
        const int16_t *column; \
        const weight_t *column_weight; \
    } mote_##name##_t; \
\
    /* Output row y (of all images) from the two input rows it lies between. */ \
    static inline void mote_##name##_row(const mote_##name##_t *p, const value_t *const *rows, int32_t y, value_t *out) { \
        const each_t weight = p->row_weight[y % p->out_rows]; \
        const value_t *const top = rows[0], *const bottom = weight > 0 ? rows[1] : top; \
        for (int32_t x = 0; x < p->out_columns; x++) { \
            const each_t w = p->column_weight[x]; \
            const int32_t right = w > 0 ? p->channels : 0; \
            const value_t *a = top + p->column[x] * p->channels, *b = bottom + p->column[x] * p->channels; \
            if (run(a, b, right, w, weight, out, p->channels)) { \
                out += p->channels; \
                continue; \
            } \
            for (int32_t c = 0; c < p->channels; c++, a++, b++) { \
                const each_t above = a[0] * (one - w) + a[right] * w; \
                const each_t below = b[0] * (one - w) + b[right] * w; \
                const sum_t v = (sum_t)above * (one - weight) + (sum_t)below * weight; \
                *out++ = finish(v); \
            } \
        } \
    } \
\
    static inline void mote_##name(const mote_##name##_t *p, const value_t *in, value_t *out, int32_t lo, int32_t hi) { \
        for (int32_t y = lo; y < hi; y++) { \
            const int32_t image = y / p->out_rows, row = p->row[y - image * p->out_rows]; \
            const value_t *const first = in + (image * p->in_rows + row) * p->in_stride; \
            const value_t *const rows[2] = {first, first + p->in_stride}; \
            mote_##name##_row(p, rows, y, out + y * p->out_columns * p->channels); \
        } \
    }

MOTE_RESIZE_BILINEAR(resize_bilinear_s8, int8_t, int16_t, int32_t, int32_t, 1024, MOTE_RESIZED_S8,
                     mote_blend_run_s8)
MOTE_RESIZE_BILINEAR(resize_bilinear_s16, int16_t, int16_t, int32_t, int64_t, 1024, MOTE_RESIZED_S16,
                     mote_blend_run_s16)
MOTE_RESIZE_BILINEAR(resize_bilinear_f32, float, float, float, float, 1.0f, MOTE_RESIZED_F32,
                     mote_blend_run_f32)

#endif
