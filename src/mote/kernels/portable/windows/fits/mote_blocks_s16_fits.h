/* mote_blocks_s16_fits.h: checks of the parameters of mote_blocks_s16.h. */
#ifndef MOTE_BLOCKS_S16_FITS_H
#define MOTE_BLOCKS_S16_FITS_H

#include "mote_blocks_s16.h"
#include "mote_common_fits.h"
#include "mote_present_fits.h"

/* What is built into the code of a block. */
typedef struct {
    int32_t pixels, taps;
    int32_t line, pixel; /* inputs of a row of a window, and those from one pixel's to its neighbour's */
    int32_t channels;    /* of outputs, */
    int32_t lanes;       /* so many at a time */
    int32_t words;       /* of the stream for these */
} mote_block_built_t;

/* Whether the code is for these windows. */
static inline int mote_block_is_for(const mote_block_built_t *b, const mote_blocks_s16_t *p, int32_t pixels) {
    return b->pixels == pixels && b->taps == p->rows.taps && b->channels == p->channels &&
           (uint32_t)b->line == mote_bytes_of(p->cols.taps, p->in_channels, 1) &&
           (uint32_t)b->pixel == mote_bytes_of(p->cols.step, p->in_channels, 1);
}

MOTE_NOINLINE int mote_blocks_s16_fits(const mote_blocks_s16_t *p, const mote_room_t *room,
                                       const mote_block_built_t *four, const mote_block_built_t *rest) {
    const mote_span_t *const s = &p->cols;
    if (!mote_pixels_fit(&p->rows, s, room, p->in_channels, p->channels, 2) || s->spread != 1 ||
        !mote_within(p->rows.taps, 1, MOTE_MAX_TAPS) || (s->out_size >= 4 && !mote_block_is_for(four, p, 4)) ||
        (s->out_size % 4 != 0 && !mote_block_is_for(rest, p, s->out_size % 4))) {
        return 0;
    }
    const int inside = s->pad == 0 && (s->out_size - 1) * s->step + s->taps <= s->in_size &&
                       mote_rows_inside(&p->rows, room);
    const uint32_t columns = mote_much_plus(mote_bytes_of(3, s->step, 1), mote_size(s->taps));
    const uint32_t zeros = mote_much_times(columns, mote_bytes_of(p->rows.taps, p->in_channels, 2));
    const uint32_t groups = (uint32_t)(four->channels / four->lanes);
    return four->channels % four->lanes == 0 && (inside || zeros <= room->scratch) && zeros != MOTE_MUCH &&
           mote_holds(room, p->stream, mote_much_times(groups, mote_bytes_of(four->words, 4, 1)), 4);
}

#endif
