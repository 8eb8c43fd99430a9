/* mote_grouped4_s8_fits.h: whether parameters of the kernels in mote_grouped4_s8.h fit. */
#ifndef MOTE_GROUPED4_S8_FITS_H
#define MOTE_GROUPED4_S8_FITS_H

#include "mote_gemm4_s8_fits.h"
#include "mote_grouped4_s8.h"

/* What is built into the code: constants of a channel; rows and columns of windows, and the step between these; input
 * channels of a part, and those of a pixel. */
typedef struct {
    int32_t constants, taps, columns, step, read, depth;
} mote_grouped4_built_t;

/* Weights and constants of all parts, which lie one behind another. */
static inline int mote_grouped4_parts_fit(const mote_grouped4_t *p, const mote_room_t *room,
                                          const mote_grouped4_built_t *b) {
    const int32_t parts = (p->groups + p->at_once - 1) / p->at_once, channels = p->at_once * p->outputs;
    const int32_t vectors = b->taps * b->columns * b->read / 16;
    mote_gemm4_t part = p->slide.gemm;
    mote_gemm4_built_t built = {b->constants, vectors, 0, channels};
    part.channels = channels;
    if (mote_size(p->weights) != mote_bytes_of(part.fours, vectors, 64) ||
        mote_size(p->constants) != mote_bytes_of(part.fours, b->constants, 4) ||
        !mote_array_fits(room, part.weights, parts, p->weights, 1, 1, 1) ||
        !mote_array_fits(room, part.constants, parts, p->constants, 1, 1, 4)) {
        return 0;
    }
    for (int32_t i = 0; i < parts; i++, part.weights += p->weights, part.constants += p->constants) {
        if (!mote_gemm4_fits(&part, room, &built)) {
            return 0;
        }
    }
    return 1;
}

MOTE_NOINLINE int mote_grouped4_fits(const mote_grouped4_t *p, const mote_room_t *room, const mote_grouped4_built_t *b,
                                     int32_t pixel) {
    const mote_slide4_t *const s = &p->slide;
    const uint32_t copy = s->padded.size > 0 ? mote_bytes_of(b->taps, s->padded.size, 1)
                                             : mote_bytes_of(b->taps * s->span, b->depth, 1);
    return mote_within(p->groups, 1, pixel) && mote_within(p->at_once, 1, p->groups) &&
           mote_within(p->inputs, 1, b->depth) && mote_within(p->outputs, 1, pixel) && p->inputs % 4 == 0 &&
           mote_count(p->groups, p->outputs, 1, 1) == (uint32_t)pixel && s->gemm.channels == pixel &&
           mote_count(p->groups, p->inputs, 1, 1) == (uint32_t)b->depth && p->at_once * p->inputs == b->read &&
           s->rows.taps == b->taps && s->depth == b->depth && s->cols.step == b->step &&
           s->span == b->step + b->columns && s->cols.out_size > 1 &&
           mote_padded_rows_fit(room, &s->rows, &s->cols, &s->padded, pixel,
                                mote_bytes_of(s->cols.in_size, b->depth, 1), 1) &&
           (s->padded.size == 0 || (s->cols.pad == 0 && s->span <= s->cols.in_size &&
                                    (s->cols.out_size - 1) * b->step + b->columns <= s->cols.in_size)) &&
           room->scratch >= copy && mote_grouped4_parts_fit(p, room, b);
}

#define MOTE_GROUPED4_CODE_FITS(id, constants, taps, columns, step, read, depth, pixel, form, shift) \
    MOTE_UNUSED static inline int mote_grouped4_##id##_fits(const mote_grouped4_t *p, const mote_room_t *room) { \
        static const mote_grouped4_built_t built = {constants, taps, columns, step, read, depth}; \
        return mote_grouped4_fits(p, room, &built, pixel); \
    }

#endif
