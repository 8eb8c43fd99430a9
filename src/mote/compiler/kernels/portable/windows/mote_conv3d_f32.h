/* mote_conv3d_f32.h: float32 convolution of volumes, and its transpose, any kernel size, stride, dilation and padding.
 *
 * An output row is made from an input row for each depth and height of the kernel, NULL where there is none: to a
 * convolution of images they are the rows of one high window. */
#ifndef MOTE_CONV3D_F32_H
#define MOTE_CONV3D_F32_H

#include "mote_dot_f32.h"
#include "mote_layer_conv2d.h"

MOTE_LAYER_CONV2D(volume_plane_f32, float, float, float, float, float, mote_finish_f32_t, MOTE_LAYER_NO_ZERO,
                  mote_add_product_f32, MOTE_START_ZERO, MOTE_FINISH_F32, MOTE_DOTS)

typedef struct {
    mote_volume_plane_f32_t plane; /* its window has as many rows as the kernel has depths and heights */
    mote_span_t deep, high;
} mote_conv3d_f32_t;

typedef struct {
    mote_span_t deep, high, wide; /* from the output back to the input */
    int32_t in_channels, out_channels;
    float least, most;            /* the fused activation */
    const float *weights;         /* [kernel depths and rows][kernel columns][out][in] */
    const float *bias;
} mote_conv3d_transpose_f32_t;

/* The input position that a tap reads for an output position, -1 where there is none. */
typedef int32_t (*mote_volume_position)(const mote_span_t *s, int32_t out, int32_t tap);

static inline int32_t mote_volume_under(const mote_span_t *s, int32_t out, int32_t tap) {
    const int32_t at = out * s->step - s->pad + tap * s->spread;
    return at >= 0 && at < s->in_size ? at : -1;
}

static inline int32_t mote_volume_reached_from(const mote_span_t *s, int32_t out, int32_t tap) {
    const int32_t at = out + s->pad - tap * s->spread;
    return at >= 0 && at % s->step == 0 && at / s->step < s->in_size ? at / s->step : -1;
}

/* Pointers to the input rows of output row y (of all volumes), `stride` elements each. */
MOTE_ALWAYS_INLINE void mote_volume_rows(const mote_span_t *deep, const mote_span_t *high, mote_volume_position position,
                                         const float *in, int32_t stride, int32_t y, const float **rows) {
    const int32_t plane = y / high->out_size, row = y - plane * high->out_size;
    const int32_t volume = plane / deep->out_size, z = plane - volume * deep->out_size;
    for (int32_t i = 0; i < deep->taps; i++) {
        const int32_t from = position(deep, z, i);
        for (int32_t k = 0; k < high->taps; k++) {
            const int32_t at = position(high, row, k);
            const int32_t line = (volume * deep->in_size + from) * high->in_size + at;
            *rows++ = from >= 0 && at >= 0 ? in + line * stride : NULL;
        }
    }
}

static inline void mote_conv3d_f32_row(const mote_conv3d_f32_t *p, const float *const *rows, float *out) {
    mote_volume_plane_f32_row(&p->plane, rows, out);
}

static inline void mote_conv3d_f32(const mote_conv3d_f32_t *p, const float *in, float *out, int32_t lo, int32_t hi) {
    const float *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_volume_rows(&p->deep, &p->high, mote_volume_under, in, p->plane.rows.in_stride, y, rows);
        mote_conv3d_f32_row(p, rows, out + y * p->plane.rows.out_stride);
    }
}

/* Sums are added up in the output. */
static inline void mote_conv3d_transpose_f32_row(const mote_conv3d_transpose_f32_t *p, const float *const *rows,
                                                 float *out) {
    const int32_t taps = p->deep.taps * p->high.taps, depth = p->in_channels, matrix = p->out_channels * depth;
    for (int32_t x = 0; x < p->wide.out_size; x++, out += p->out_channels) {
        memcpy(out, p->bias, (size_t)p->out_channels * sizeof *out);
        for (int32_t k = 0; k < p->wide.taps; k++) {
            const int32_t at = mote_volume_reached_from(&p->wide, x, k);
            const float *w = p->weights + k * matrix;
            for (int32_t t = 0; at >= 0 && t < taps; t++, w += p->wide.taps * matrix) {
                for (int32_t c = 0; rows[t] != NULL && c < p->out_channels; c++) {
                    out[c] = mote_dot_f32(out[c], rows[t] + at * depth, w + c * depth, depth);
                }
            }
        }
        for (int32_t c = 0; c < p->out_channels; c++) {
            out[c] = mote_clamp_f32(out[c], p->least, p->most);
        }
    }
}

static inline void mote_conv3d_transpose_f32(const mote_conv3d_transpose_f32_t *p, const float *in, float *out,
                                             int32_t lo, int32_t hi) {
    const float *rows[MOTE_MAX_TAPS];
    const int32_t in_stride = p->wide.in_size * p->in_channels, out_stride = p->wide.out_size * p->out_channels;
    for (int32_t y = lo; y < hi; y++) {
        mote_volume_rows(&p->deep, &p->high, mote_volume_reached_from, in, in_stride, y, rows);
        mote_conv3d_transpose_f32_row(p, rows, out + y * out_stride);
    }
}

#endif
