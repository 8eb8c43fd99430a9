/* mote_grid_sample_f32.h: float32 images read at places that are computed, between pixels. */
#ifndef MOTE_GRID_SAMPLE_F32_H
#define MOTE_GRID_SAMPLE_F32_H

#include "mote_math.h"

#define MOTE_SAMPLE_FAR 8.0f /* so far outside of an image there is nothing but what is further outside, too */

enum { MOTE_OUTSIDE_ZEROS, MOTE_OUTSIDE_BORDER, MOTE_OUTSIDE_REFLECTION };

/* An axis of pixels: how many there are, and elements from one to the next. */
typedef struct {
    int32_t size, step;
} mote_sampled_t;

typedef struct {
    int32_t images, points, channels; /* points of each image */
    int32_t image;                    /* elements of an image */
    int32_t axes;                     /* 1 to 3 */
    int32_t taps;                     /* pixels along an axis that make a sample: 1, 2 or 4 */
    int32_t outside;
    int32_t corners; /* -1 and 1 are the middles of the outermost pixels, else the edges */
    const mote_sampled_t *axis;
} mote_grid_sample_f32_t;

/* The pixels along an axis that a sample is made from, as elements from the first one on, and their weights. */
typedef struct {
    int32_t at[4];
    float weight[4];
} mote_sample_t;

/* A place outside of two borders, mirrored at these until it is inside. */
static inline float mote_reflected(float at, float low, float span) {
    const float away = mote_fabsf(at - low);
    float turns, rest;
    if (!(span > 0.0f) || !(away < MOTE_INFINITY)) {
        return low;
    }
    turns = mote_floorf(away / span);
    rest = away - turns * span;
    return low + (mote_floorf(turns * 0.5f) * 2.0f == turns ? rest : span - rest);
}

/* The weights of a neighbour and of the one behind it, x pixels away. */
static inline float mote_cubic_near(float x) { return (1.25f * x - 2.25f) * x * x + 1.0f; }
static inline float mote_cubic_far(float x) { return ((-0.75f * x + 3.75f) * x - 6.0f) * x + 3.0f; }

/* Where a number of the grid leads along an axis, in pixels: not much outside. */
static inline float mote_sample_place(const mote_grid_sample_f32_t *p, float grid, int32_t size, float low, float span) {
    const float most = (float)size + MOTE_SAMPLE_FAR;
    float at = p->corners ? (grid + 1.0f) * 0.5f * (float)(size - 1) : ((grid + 1.0f) * (float)size - 1.0f) * 0.5f;
    at = p->taps == 1 ? mote_rintf(at) : at;
    if (!(at >= low && at <= low + span)) {
        if (p->outside == MOTE_OUTSIDE_BORDER) {
            at = at > (float)(size - 1) ? (float)(size - 1) : 0.0f;
        } else if (p->outside == MOTE_OUTSIDE_REFLECTION) {
            at = mote_reflected(at, low, span);
        }
    }
    return !(at > -MOTE_SAMPLE_FAR) ? -MOTE_SAMPLE_FAR : at > most ? most : at;
}

/* The pixel that stands for one, and whether it counts. */
static inline int32_t mote_sample_pixel(const mote_grid_sample_f32_t *p, int32_t at, int32_t size, float low, float span,
                                        float *weight) {
    if (at >= 0 && at < size) {
        return at;
    }
    if (p->outside == MOTE_OUTSIDE_ZEROS) {
        *weight = 0.0f;
    } else if (p->outside == MOTE_OUTSIDE_REFLECTION) {
        at = (int32_t)mote_reflected((float)at, low, span);
    }
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static inline void mote_sample_axis(const mote_grid_sample_f32_t *p, const mote_sampled_t *axis, float grid,
                                    mote_sample_t *s) {
    const int32_t size = axis->size;
    const float low = p->corners ? 0.0f : -0.5f, span = (float)(p->corners ? size - 1 : size);
    const float at = mote_sample_place(p, grid, size, low, span), first = mote_floorf(at), rest = at - first;
    int32_t begin = (int32_t)first;
    s->weight[0] = 1.0f;
    if (p->taps == 2) {
        s->weight[0] = 1.0f - rest;
        s->weight[1] = rest;
    } else if (p->taps == 4) {
        begin -= 1;
        s->weight[0] = mote_cubic_far(1.0f + rest);
        s->weight[1] = mote_cubic_near(rest);
        s->weight[2] = mote_cubic_near(1.0f - rest);
        s->weight[3] = mote_cubic_far(2.0f - rest);
    }
    for (int32_t i = 0; i < p->taps; i++) {
        s->at[i] = mote_sample_pixel(p, begin + i, size, low, span, &s->weight[i]) * axis->step;
    }
}

/* One sample of all channels. */
static inline void mote_sample(const mote_grid_sample_f32_t *p, const float *in, const float *grid, float *out) {
    mote_sample_t s[3];
    int32_t all = 1;
    for (int32_t a = 0; a < p->axes; a++, all *= p->taps) {
        mote_sample_axis(p, &p->axis[a], grid[p->axes - 1 - a], &s[a]);
    }
    for (int32_t c = 0; c < p->channels; c++) {
        out[c] = 0.0f;
    }
    for (int32_t k = 0; k < all; k++) {
        const float *pixel = in;
        float weight = 1.0f;
        for (int32_t a = 0, rest = k; a < p->axes; a++, rest /= p->taps) {
            pixel += s[a].at[rest % p->taps];
            weight *= s[a].weight[rest % p->taps];
        }
        for (int32_t c = 0; weight != 0.0f && c < p->channels; c++) {
            out[c] += weight * pixel[c];
        }
    }
}

static inline void mote_grid_sample_f32(const mote_grid_sample_f32_t *p, const float *in, const float *grid, float *out) {
    for (int32_t n = 0; n < p->images; n++, in += p->image) {
        for (int32_t i = 0; i < p->points; i++, grid += p->axes, out += p->channels) {
            mote_sample(p, in, grid, out);
        }
    }
}

#endif
