/* mote_depthwise_any_s8_fits.h: whether parameters of the kernels in mote_depthwise_any_s8.h fit. */
#ifndef MOTE_DEPTHWISE_ANY_S8_FITS_H
#define MOTE_DEPTHWISE_ANY_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_depthwise_any_s8.h"
#include "mote_present_fits.h"

/* A block reads so many bytes; a record has `head` words, and `words` for each row of the window. */
MOTE_NOINLINE int mote_depthwise_any_fits(const mote_depthwise_any_t *p, const mote_room_t *room, int32_t stride,
                                          int32_t read, int32_t head, int32_t words) {
    const uint32_t in = mote_bytes_of(p->channels, p->line, 1), out = mote_bytes_of(p->channels, p->outputs, 1);
    const int32_t blocks = mote_counts(p->outputs) ? mote_any_blocks(p->outputs) : 0;
    const uint32_t made = mote_bytes_of(4 * blocks, p->channels, 1);
    mote_present_t rows;
    return mote_counts(p->channels | p->outputs | p->line) && p->channels > 0 && p->outputs > 0 && p->line % 4 == 0 &&
           4 * stride * (blocks - 1) + read <= p->line && mote_present(&p->rows, room, &rows) && rows.least >= 1 &&
           p->record == head + p->rows.taps * words &&
           mote_holds_words(room, p->records, mote_bytes_of(p->channels, p->record, 1)) &&
           mote_planes_fit(room, &p->rows, in, out) && (made == out || made <= room->scratch);
}

#define MOTE_DEPTHWISE_ANY_FITS(columns, stride, form, s) \
    MOTE_UNUSED static inline int mote_depthwise_any##columns##_##stride##_##form##_##s##_fits( \
        const mote_depthwise_any_t *p, const mote_room_t *room) { \
        return mote_depthwise_any_fits(p, room, MOTE_ANY_STRIDE_##stride, MOTE_ANY_READ_##columns##_##stride, \
                                       MOTE_ANY_HEAD_##form, MOTE_ANY_WORDS_##columns##_##stride); \
    }

#endif
