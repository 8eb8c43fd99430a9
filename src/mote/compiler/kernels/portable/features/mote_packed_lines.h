/* mote_packed_lines.h: part of a camera's packed lines as pixels of another width. The pixels that one is made from are
 * unpacked into working memory, so that no line of them is kept. */
#ifndef MOTE_PACKED_LINES_H
#define MOTE_PACKED_LINES_H

#include "mote_pixels.h"
#include "mote_resample.h"

/* `unpacks` makes pixels of units of `unit` bytes: of one pixel, or of two where `pairs` is 1. */
#define MOTE_RESIZE_PACKED(unpacks) \
    typedef struct { \
        mote_##unpacks##_t pixels; \
        int32_t top, line, skip; /* lines before the first, bytes of a line, bytes of it before the first pixel */ \
        int32_t unit, pairs; \
        int32_t columns, depth; /* of the output, and its channels */ \
        int32_t taps, kinds; \
        const int16_t *first; \
        const int16_t *which; \
        const int16_t *count; \
        const int32_t *weights; \
    } mote_resize_##unpacks##_t; \
\
    static inline void mote_resize_##unpacks##_row(const mote_resize_##unpacks##_t *p, const uint8_t *const *rows, \
                                                   uint8_t *out, int8_t *scratch) { \
        uint8_t *const window = (uint8_t *)scratch; \
        const uint8_t *const line = rows[0] + p->skip; \
        const int32_t columns = p->columns, depth = p->depth, pairs = p->pairs; \
        for (int32_t x = 0; x < columns; x++) { \
            const int32_t first = p->first[x], which = p->which[x], count = p->count[which]; \
            const int32_t *const weights = p->weights + which * p->taps; \
            const int32_t odd = first & pairs; \
            mote_##unpacks(&p->pixels, line + (first >> pairs) * p->unit, window, (odd + count + pairs) >> pairs); \
            out = mote_put_resampled(out, window + odd * depth, depth, weights, count); \
        } \
    } \
\
    static inline void mote_resize_##unpacks(const mote_resize_##unpacks##_t *p, const uint8_t *in, uint8_t *out, \
                                             int32_t lo, int32_t hi, int8_t *scratch) { \
        for (int32_t y = lo; y < hi; y++) { \
            const uint8_t *const line = in + (p->top + y) * p->line; \
            mote_resize_##unpacks##_row(p, &line, out + y * p->columns * p->depth, scratch); \
        } \
    }

MOTE_RESIZE_PACKED(unpack_bgr888)
MOTE_RESIZE_PACKED(unpack_rgb565)
MOTE_RESIZE_PACKED(gray_rgb565)
MOTE_RESIZE_PACKED(unpack_yuv422)

#endif
