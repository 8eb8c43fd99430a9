/* mote_depthwise3_any_s8_fits.h: whether parameters of the kernels in mote_depthwise3_any_s8.h fit. */
#ifndef MOTE_DEPTHWISE3_ANY_S8_FITS_H
#define MOTE_DEPTHWISE3_ANY_S8_FITS_H

#include "mote_depthwise3_any_s8.h"
#include "mote_depthwise3_s8_fits.h"

MOTE_NOINLINE int mote_any3_fits(const mote_planar_t *p, const mote_room_t *room, int32_t stride, int32_t record) {
    const int32_t fours = p->outputs / 4 + (p->outputs % 4 > 0), line = mote_counts(p->columns) ? mote_planar_line(p) : 0;
    const uint32_t in = mote_bytes_of(p->channels, line, 1), out = mote_bytes_of(p->channels, p->outputs, 1);
    const uint32_t made = mote_bytes_of(4 * fours, p->channels, 1), surplus = made == out ? 0 : made;
    const int32_t behind = stride == 1 ? 4 : 1; /* bytes that are read behind the columns of a line */
    const uint32_t lines = p->skip >= 4 ? 0 : 3 * (uint32_t)(line + MOTE_PLANAR_BEHIND);
    mote_present_t rows;
    return mote_counts(p->channels | p->outputs | p->columns) && p->channels > 0 && p->outputs > 0 &&
           p->columns == 4 * fours * stride && mote_within(p->skip, behind - MOTE_PLANAR_BEHIND, 8) && line > 0 &&
           line % 4 == 0 && behind - p->skip <= line &&
           mote_size(p->wide) == made && p->rows.taps == 3 &&
           mote_holds_words(room, p->records, mote_bytes_of(p->channels, record, 1)) &&
           mote_present(&p->rows, room, &rows) && rows.least >= 2 && mote_planes_fit(room, &p->rows, in, out) &&
           mote_much_plus(lines, surplus) <= room->scratch;
}

#define MOTE_DEPTHWISE3_ANY_FITS(stride, form, s) \
    MOTE_UNUSED static inline int mote_depthwise3_any_##stride##_##form##_##s##_fits(const mote_planar_t *p, \
                                                                                     const mote_room_t *room) { \
        return mote_any3_fits(p, room, MOTE_PLANAR_STRIDE_##stride, MOTE_PLANAR_RECORD(w16, form)); \
    }

#endif
