/* mote_roi_align_f32.h: regions of float32 images as a few cells each. */
#ifndef MOTE_ROI_ALIGN_F32_H
#define MOTE_ROI_ALIGN_F32_H

#include "mote_index.h"
#include "mote_math.h"

#define MOTE_ROI_SAMPLES 4096.0f /* of a cell along an axis at most */

typedef struct {
    int32_t images, height, width, channels;
    int32_t regions, rows, columns; /* cells of a region */
    float scale, offset;
    int32_t samples;     /* along an axis of a cell; 0: as many as it has pixels */
    int32_t smallest;    /* a region has one pixel at least */
    int32_t largest;     /* the largest share of a pixel, else the mean */
    int32_t index_width; /* bytes of the number of an image */
} mote_roi_align_f32_t;

/* The samples along an axis: the first place of the region, how far cells are apart, and how many samples each has. */
typedef struct {
    float begin, cell;
    int32_t count, size;
} mote_roi_axis_t;

/* A sample along an axis: two pixels and the weight of the second one; 0 where it is outside. */
typedef struct {
    int32_t at[2];
    float weight[2];
} mote_roi_place_t;

static inline mote_roi_axis_t mote_roi_axis(const mote_roi_align_f32_t *p, float begin, float end, int32_t cells,
                                            int32_t size) {
    const float from = begin * p->scale - p->offset, length = end * p->scale - p->offset - from;
    mote_roi_axis_t a;
    float count;
    a.begin = from;
    a.cell = (p->smallest && !(length >= 1.0f) ? 1.0f : length) / (float)cells;
    count = p->samples > 0 ? (float)p->samples : mote_ceilf(a.cell);
    a.count = !(count > 0.0f) ? 0 : count > MOTE_ROI_SAMPLES ? (int32_t)MOTE_ROI_SAMPLES : (int32_t)count;
    a.size = size;
    return a;
}

static inline int mote_roi_place(const mote_roi_axis_t *a, int32_t cell, int32_t sample, mote_roi_place_t *s) {
    float at = a->begin + (float)cell * a->cell + ((float)sample + 0.5f) * a->cell / (float)a->count;
    s->at[0] = s->at[1] = a->size - 1;
    s->weight[0] = 1.0f;
    s->weight[1] = 0.0f;
    if (!(at >= -1.0f && at <= (float)a->size)) {
        return 0;
    }
    at = at < 0.0f ? 0.0f : at;
    if (at < (float)(a->size - 1)) {
        s->at[0] = (int32_t)at;
        s->at[1] = s->at[0] + 1;
        s->weight[1] = at - (float)s->at[0];
        s->weight[0] = 1.0f - s->weight[1];
    }
    return 1;
}

/* One sample more of all channels: four pixels, whose shares are added or of which the largest counts. */
static inline void mote_roi_sample(const mote_roi_align_f32_t *p, const float *in, const mote_roi_place_t *y,
                                   const mote_roi_place_t *x, float *out) {
    for (int32_t k = 0; k < 4; k++) {
        const float *const pixel = in + (y->at[k >> 1] * p->width + x->at[k & 1]) * p->channels;
        const float weight = y->weight[k >> 1] * x->weight[k & 1];
        for (int32_t c = 0; c < p->channels; c++) {
            const float share = weight * pixel[c];
            out[c] = !p->largest ? out[c] + share : share > out[c] ? share : out[c];
        }
    }
}

static inline void mote_roi_cell(const mote_roi_align_f32_t *p, const float *in, const mote_roi_axis_t *rows, int32_t i,
                                 const mote_roi_axis_t *columns, int32_t j, float *out) {
    const int32_t count = rows->count * columns->count;
    const float none = p->largest && count > 0 ? -MOTE_INFINITY : 0.0f;
    for (int32_t c = 0; c < p->channels; c++) {
        out[c] = none;
    }
    for (int32_t k = 0; k < count; k++) {
        mote_roi_place_t y, x;
        const int inside = mote_roi_place(rows, i, k / columns->count, &y) &
                           mote_roi_place(columns, j, k % columns->count, &x);
        if (!inside) {
            x.weight[0] = x.weight[1] = 0.0f;
        }
        mote_roi_sample(p, in, &y, &x, out);
    }
    for (int32_t c = 0; !p->largest && count > 0 && c < p->channels; c++) {
        out[c] /= (float)count;
    }
}

static inline void mote_roi_align_f32(const mote_roi_align_f32_t *p, const float *in, const float *regions,
                                      const void *images, float *out) {
    const int32_t elements = p->rows * p->columns * p->channels;
    for (int32_t r = 0; r < p->regions; r++, regions += 4) {
        const int32_t image = mote_index(images, p->index_width, r);
        const mote_roi_axis_t columns = mote_roi_axis(p, regions[0], regions[2], p->columns, p->width);
        const mote_roi_axis_t rows = mote_roi_axis(p, regions[1], regions[3], p->rows, p->height);
        if (image < 0 || image >= p->images) {
            memset(out, 0, (size_t)elements * sizeof(float));
            out += elements;
            continue;
        }
        for (int32_t i = 0; i < p->rows; i++) {
            for (int32_t j = 0; j < p->columns; j++, out += p->channels) {
                mote_roi_cell(p, in + image * p->height * p->width * p->channels, &rows, i, &columns, j, out);
            }
        }
    }
}

#endif
