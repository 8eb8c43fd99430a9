/* mote_depthwise_wide_s8_fits.h: whether parameters of the kernels in mote_depthwise_wide_s8.h fit.
 *
 * Nearly every parameter is built into the code as well, and has to be the same.
 */
#ifndef MOTE_DEPTHWISE_WIDE_S8_FITS_H
#define MOTE_DEPTHWISE_WIDE_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_depthwise_wide_s8.h"
#include "mote_present_fits.h"

/* The parameters from `channels` on up to the window. */
#define MOTE_WIDE_NUMBERS 22

/* For code with these numbers, apart from where rows lie; a record has `constants` before its weights. */
MOTE_NOINLINE int mote_wide_built_fits(const mote_depthwise_wide_t *p, const mote_room_t *room, const int32_t *built,
                                       int32_t constants) {
    mote_present_t rows;
    return memcmp(&p->channels, built, 4 * MOTE_WIDE_NUMBERS) == 0 &&
           mote_holds_words(room, p->records, mote_bytes_of(p->channels, p->record, 1)) &&
           mote_present(&p->rows, room, &rows) && rows.least >= 1 && rows.most <= p->most && rows.first >= p->top &&
           (rows.end - p->top) * p->words <= p->record - 1 - constants;
}

/* The same, and rows; so many bytes from one row under a window to the next. */
MOTE_NOINLINE int mote_depthwise_wide_fits(const mote_depthwise_wide_t *p, const mote_room_t *room,
                                           const int32_t *built, int32_t row, int32_t constants) {
    const uint32_t in = mote_bytes_of(p->channels, p->line, 1), out = mote_bytes_of(p->channels, p->outputs, 1);
    return mote_wide_built_fits(p, room, built, constants) && p->rows.spread * p->rows.in_stride == row &&
           mote_planes_fit(room, &p->rows, in, out);
}

#define MOTE_WIDE_CONSTANTS_OF_relu 2
#define MOTE_WIDE_CONSTANTS_OF_linear 3
#define MOTE_WIDE_FITS(id, form, row, ...) \
    MOTE_UNUSED static inline int mote_##id##_fits(const mote_depthwise_wide_t *p, const mote_room_t *room) { \
        static const int32_t built[MOTE_WIDE_NUMBERS] = {__VA_ARGS__}; \
        return mote_depthwise_wide_fits(p, room, built, row, MOTE_WIDE_CONSTANTS_OF_##form); \
    }
#define MOTE_WIDE_ONE_FITS(id, last, taps, weights, stride, form, s, row, ...) MOTE_WIDE_FITS(id, form, row, __VA_ARGS__)
#define MOTE_WIDE_BLOCKS_FITS(id, blocks, taps, weights, stride, form, s, row, ...) \
    MOTE_WIDE_FITS(id, form, row, __VA_ARGS__)
#define MOTE_WIDE_BOTH_FITS(id, blocks, last, taps, weights, stride, form, s, row, ...) \
    MOTE_WIDE_FITS(id, form, row, __VA_ARGS__)

#endif
