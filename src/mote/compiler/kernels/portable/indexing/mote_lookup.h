/* mote_lookup.h: parts of a tensor at places that are computed at run time: GATHER, GATHER_ND, EMBEDDING_LOOKUP and
 * slices. Any element type. What lies outside is zeros; sizes and steps are in bytes. */
#ifndef MOTE_LOOKUP_H
#define MOTE_LOOKUP_H

#include "mote_index.h"
#include "mote_move.h"

/* `count` runs of an axis of `size` runs, the same ones in all `outer` parts of a batch. */
typedef struct {
    int32_t batches, outer, size, count, run;
    int32_t width; /* bytes of an index */
} mote_lookup_t;

static inline void mote_lookup(const mote_lookup_t *p, const void *in, const void *indices, void *out) {
    const int8_t *from = (const int8_t *)in;
    int8_t *to = (int8_t *)out;
    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t o = 0; o < p->outer; o++, from += p->size * p->run) {
            for (int32_t i = 0; i < p->count; i++, to += p->run) {
                const int32_t index = mote_index(indices, p->width, b * p->count + i);
                if (index >= 0 && index < p->size) {
                    mote_move_items(from + index * p->run, to, 1, 0, 0, p->run);
                } else {
                    memset(to, 0, (size_t)p->run);
                }
            }
        }
    }
}

/* A run for each of `count` tuples of indices. */
typedef struct {
    int32_t count, depth, run;
    int32_t width; /* bytes of an index */
    const mote_indexed_t *axis;
} mote_lookup_nd_t;

static inline void mote_lookup_nd(const mote_lookup_nd_t *p, const void *in, const void *indices, void *out) {
    int8_t *to = (int8_t *)out;
    for (int32_t i = 0; i < p->count; i++, to += p->run) {
        const int32_t at = mote_index_tuple(p->axis, p->depth, indices, p->width, i);
        if (at >= 0) {
            mote_move_items((const int8_t *)in + at, to, 1, 0, 0, p->run);
        } else {
            memset(to, 0, (size_t)p->run);
        }
    }
}

/* A box that begins where indices say. */
typedef struct {
    int32_t axes;
    int32_t width; /* bytes of an index */
    const mote_begin_t *begin;
    mote_move_t move;
} mote_lookup_box_t;

static inline void mote_lookup_box(const mote_lookup_box_t *p, const void *in, const void *indices, void *out) {
    mote_move(&p->move, (const int8_t *)in + mote_begin(p->begin, p->axes, indices, p->width), out);
}

/* Rows of a table of int8 values as real numbers, with one scale or one for each row. */
typedef struct {
    int32_t size, count, run;
    int32_t width; /* bytes of an index */
    int32_t step;  /* 1: a scale for each row */
    const float *scale;
} mote_lookup_f32_t;

static inline void mote_lookup_f32(const mote_lookup_f32_t *p, const int8_t *in, const void *indices, float *out) {
    for (int32_t i = 0; i < p->count; i++, out += p->run) {
        const int32_t index = mote_index(indices, p->width, i);
        const int32_t inside = index >= 0 && index < p->size ? index : 0;
        const float scale = inside == index ? p->scale[inside * p->step] : 0.0f;
        for (int32_t k = 0; k < p->run; k++) {
            out[k] = (float)in[inside * p->run + k] * scale;
        }
    }
}

#endif
