/* mote_max_roi_pool_f32.h: regions of float32 images as the largest elements of a few cells each. */
#ifndef MOTE_MAX_ROI_POOL_F32_H
#define MOTE_MAX_ROI_POOL_F32_H

#include "mote_math.h"

#define MOTE_ROI_PIXELS 1048576.0f /* so far outside of an image nothing is left of a region */

typedef struct {
    int32_t images, height, width, channels;
    int32_t regions, rows, columns; /* cells of a region */
    float scale;
} mote_max_roi_pool_f32_t;

/* The nearest pixel, halves away from zero. */
static inline int32_t mote_roi_pixel(float at) {
    const float size = at != at ? 0.0f : at > MOTE_ROI_PIXELS || at < -MOTE_ROI_PIXELS ? MOTE_ROI_PIXELS : mote_fabsf(at);
    const int32_t nearest = (int32_t)(size + 0.5f);
    return at < 0.0f ? -nearest : nearest;
}

/* Where cell i of `count` begins along an axis of `size` pixels; for i + 1 and `up`: where it ends. */
static inline int32_t mote_roi_edge(int32_t begin, int32_t end, int32_t i, int32_t count, int32_t size, int up) {
    const float cell = (float)(end >= begin ? end - begin + 1 : 1) / (float)count, at = (float)i * cell;
    const int32_t pixel = (int32_t)(up ? mote_ceilf(at) : mote_floorf(at)) + begin;
    return pixel < 0 ? 0 : pixel > size ? size : pixel;
}

static inline void mote_roi_most(const mote_max_roi_pool_f32_t *p, const float *in, int32_t top, int32_t bottom,
                                 int32_t left, int32_t right, float *out) {
    const int none = top >= bottom || left >= right;
    for (int32_t c = 0; c < p->channels; c++) {
        out[c] = none ? 0.0f : in[(top * p->width + left) * p->channels + c];
    }
    for (int32_t y = top; y < bottom; y++) {
        for (int32_t x = left; x < right; x++) {
            const float *const pixel = in + (y * p->width + x) * p->channels;
            for (int32_t c = 0; c < p->channels; c++) {
                out[c] = pixel[c] > out[c] ? pixel[c] : out[c];
            }
        }
    }
}

static inline void mote_max_roi_pool_f32(const mote_max_roi_pool_f32_t *p, const float *in, const float *regions,
                                         float *out) {
    const int32_t elements = p->rows * p->columns * p->channels;
    for (int32_t r = 0; r < p->regions; r++, regions += 5) {
        const int32_t left = mote_roi_pixel(regions[1] * p->scale), top = mote_roi_pixel(regions[2] * p->scale);
        const int32_t right = mote_roi_pixel(regions[3] * p->scale), bottom = mote_roi_pixel(regions[4] * p->scale);
        const float *image;
        if (!(regions[0] >= 0.0f && regions[0] < (float)p->images)) {
            memset(out, 0, (size_t)elements * sizeof(float));
            out += elements;
            continue;
        }
        image = in + (int32_t)regions[0] * p->height * p->width * p->channels;
        for (int32_t i = 0; i < p->rows; i++) {
            const int32_t first = mote_roi_edge(top, bottom, i, p->rows, p->height, 0);
            const int32_t last = mote_roi_edge(top, bottom, i + 1, p->rows, p->height, 1);
            for (int32_t j = 0; j < p->columns; j++, out += p->channels) {
                mote_roi_most(p, image, first, last, mote_roi_edge(left, right, j, p->columns, p->width, 0),
                              mote_roi_edge(left, right, j + 1, p->columns, p->width, 1), out);
            }
        }
    }
}

#endif
