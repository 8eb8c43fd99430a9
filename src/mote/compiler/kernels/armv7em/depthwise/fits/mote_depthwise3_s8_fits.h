/* mote_depthwise3_s8_fits.h: whether parameters of the kernels in mote_depthwise3_s8.h fit. */
#ifndef MOTE_DEPTHWISE3_S8_FITS_H
#define MOTE_DEPTHWISE3_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_depthwise3_s8.h"
#include "mote_present_fits.h"

/* Words of a channel's record. */
#define MOTE_PLANAR_WEIGHTS_w16 6
#define MOTE_PLANAR_WEIGHTS_w8 3
#define MOTE_PLANAR_WEIGHTS_b8 3
#define MOTE_PLANAR_CONSTANTS_relu 2
#define MOTE_PLANAR_CONSTANTS_linear 3
#define MOTE_PLANAR_RECORD(weights, form) (1 + MOTE_PLANAR_WEIGHTS_##weights + MOTE_PLANAR_CONSTANTS_##form)

/* What is built into the code of a row: after at least `fours` blocks of four outputs it makes `last` ones, from `skip`
 * more bytes of a line; 0: lines may have any length. */
typedef struct {
    int32_t stride, record, fours, last, skip, line;
} mote_planar_built_t;

#define MOTE_PLANAR_STRIDE_s1 1
#define MOTE_PLANAR_STRIDE_s2 2

/* Records and rows of inputs, of which at most one of three is missing at the border of the image. */
MOTE_NOINLINE int mote_planar_fits(const mote_planar_t *p, const mote_room_t *room, const mote_planar_built_t *b) {
    const int32_t fours = (p->outputs - b->last) / 4;
    mote_present_t rows;
    return mote_counts(p->channels | p->outputs | p->columns) && p->channels > 0 && fours >= b->fours &&
           p->outputs == 4 * fours + b->last && p->columns == 4 * fours * b->stride && p->skip == b->skip &&
           (b->line == 0 || b->line == p->columns + p->skip) &&
           mote_size(p->wide) == mote_bytes_of(4 * fours, p->channels, 1) && p->rows.taps == 3 &&
           mote_holds_words(room, p->records, mote_bytes_of(p->channels, b->record, 1)) &&
           mote_present(&p->rows, room, &rows) && rows.least >= 2;
}

/* The same and rows of outputs. */
MOTE_NOINLINE int mote_depthwise3_fits(const mote_planar_t *p, const mote_room_t *room, const mote_planar_built_t *b) {
    const uint32_t in = mote_bytes_of(p->channels, p->columns + p->skip, 1);
    const uint32_t out = mote_bytes_of(p->channels, p->outputs, 1);
    return mote_planar_fits(p, room, b) && mote_planes_fit(room, &p->rows, in, out);
}

#define MOTE_PLANAR_APART_FITS(id, code) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_planar_apart_t *p, const mote_room_t *room) { \
        return mote_##code##_fits(&p->planar, room) && mote_holds_words(room, p->biases, mote_size(p->planar.channels)); \
    }

#define MOTE_DEPTHWISE3_FITS(id, ...) \
    static const mote_planar_built_t mote_##id##_built = {__VA_ARGS__}; \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_planar_t *p, const mote_room_t *room) { \
        return mote_depthwise3_fits(p, room, &mote_##id##_built); \
    }
#define MOTE_DEPTHWISE3_FOURS_FITS(weights, stride, form, s) \
    MOTE_DEPTHWISE3_FITS(depthwise3_##weights##_##stride##_##form##_##s, MOTE_PLANAR_STRIDE_##stride, \
                         MOTE_PLANAR_RECORD(weights, form), 1, 0, 4, 0)
#define MOTE_DEPTHWISE3_LAST_FITS(weights, stride, kind, line, form, s, last, skip) \
    MOTE_DEPTHWISE3_FITS(depthwise3_##weights##_##stride##_##kind##_##line##_##form##_##s, \
                         MOTE_PLANAR_STRIDE_##stride, MOTE_PLANAR_RECORD(weights, form), 0, last, skip, line)
#define MOTE_DEPTHWISE3_WRITTEN_FITS(id, weights, stride, form, s, last, skip, line, count) \
    static const mote_planar_built_t mote_##id##_built = { \
        MOTE_PLANAR_STRIDE_##stride, MOTE_PLANAR_RECORD(weights, form), 0, last, skip, line}; \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_planar_t *p, const mote_room_t *room) { \
        return p->channels == (count) && p->outputs == (last) && mote_depthwise3_fits(p, room, &mote_##id##_built); \
    }
#define MOTE_DEPTHWISE3_BOTH_FITS(weights, stride, kind, line, form, s, last, skip) \
    MOTE_DEPTHWISE3_FITS(depthwise3_##weights##_##stride##_4_##kind##_##line##_##form##_##s, \
                         MOTE_PLANAR_STRIDE_##stride, MOTE_PLANAR_RECORD(weights, form), 1, last, skip, line)

#endif
