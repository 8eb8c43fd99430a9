/* mote_gradient_axis.h: rows or columns of a window over an image, as gradients go through them. */
#ifndef MOTE_GRADIENT_AXIS_H
#define MOTE_GRADIENT_AXIS_H

#include "mote_common.h"

typedef struct {
    int32_t in, out, taps, stride, spread, pad;
} mote_gradient_axis_t;

/* The rows or columns that all windows reach over, those of padding too. */
static inline int32_t mote_gradient_span(const mote_gradient_axis_t *a) {
    return (a->out - 1) * a->stride + (a->taps - 1) * a->spread + 1;
}

/* The outputs lo..hi-1 whose windows have tap k inside the image. */
static inline void mote_gradient_inside(const mote_gradient_axis_t *a, int32_t k, int32_t *lo, int32_t *hi) {
    const int32_t first = k * a->spread - a->pad;
    *lo = 0;
    *hi = a->out;
    while (*lo < *hi && *lo * a->stride + first < 0) {
        ++*lo;
    }
    while (*hi > *lo && (*hi - 1) * a->stride + first >= a->in) {
        --*hi;
    }
}

/* The output whose window has the image's row or column x at tap k; -1 where there is none. */
static inline int32_t mote_gradient_output(const mote_gradient_axis_t *a, int32_t x, int32_t k) {
    const int32_t at = x + a->pad - k * a->spread, y = at / a->stride;
    return at < 0 || at != y * a->stride || y >= a->out ? -1 : y;
}

/* The row or column of the image that output y has at tap k; -1 where there is none. */
static inline int32_t mote_gradient_input(const mote_gradient_axis_t *a, int32_t y, int32_t k) {
    const int32_t x = y * a->stride + k * a->spread - a->pad;
    return x < 0 || x >= a->in ? -1 : x;
}

#endif
