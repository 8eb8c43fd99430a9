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
    int32_t work;        /* elements of working memory */
    int32_t left, right; /* columns under it that are outside of the image */
} mote_block_built_t;

/* Whether the code is for these windows. */
static inline int mote_block_is_for(const mote_block_built_t *b, const mote_blocks_s16_t *p, int32_t pixels) {
    return b->pixels == pixels && b->taps == p->rows.taps && b->channels == p->channels &&
           (uint32_t)b->line == mote_bytes_of(p->cols.taps, p->in_channels, 1) &&
           (uint32_t)b->pixel == mote_bytes_of(p->cols.step, p->in_channels, 1);
}

/* Whether rows that may be computed as one are pixels behind one another. */
static inline int mote_blocks_s16_flat_fits(const mote_blocks_s16_t *p, const mote_room_t *room) {
    const mote_span_t *const s = &p->cols;
    const int one = p->rows.taps == 1 && s->taps == 1 && s->step == 1 && s->pad == 0 && s->in_size == s->out_size;
    const int rows = room->form == MOTE_RUN_ROW ||
                     (p->rows.pad == 0 && p->rows.step == 1 && p->rows.in_rows == p->rows.out_rows &&
                      p->rows.in_stride == s->in_size * p->in_channels &&
                      p->rows.out_stride == s->out_size * p->channels && s->out_size > 0);
    return p->flat == 0 || (p->flat == 1 && one && rows);
}

MOTE_NOINLINE int mote_blocks_s16_fits(const mote_blocks_s16_t *p, const mote_room_t *room,
                                       const mote_block_built_t *four, const mote_block_built_t *rest) {
    const mote_span_t *const s = &p->cols;
    if (!mote_pixels_fit(&p->rows, s, room, p->in_channels, p->channels, 2) || s->spread != 1 ||
        !mote_within(p->rows.taps, 1, MOTE_MAX_TAPS) || !mote_blocks_s16_flat_fits(p, room) ||
        !mote_within(p->whole, 0, 1) || (p->flat && p->whole) || s->out_size == 0 ||
        ((s->out_size >= 4 || p->flat) && !mote_block_is_for(four, p, 4)) ||
        (s->out_size % 4 != 0 && !mote_block_is_for(rest, p, s->out_size % 4))) {
        return 0;
    }
    const int inside = s->pad == 0 && (s->out_size - 1) * s->step + s->taps <= s->in_size &&
                       mote_rows_inside(&p->rows, room);
    const uint32_t steps = mote_bytes_of(p->whole ? s->out_size - 1 : 3, s->step, 1);
    const uint32_t columns = mote_much_plus(steps, mote_size(s->taps));
    const uint32_t zeros = mote_much_times(columns, mote_bytes_of(p->rows.taps, p->in_channels, 2));
    const uint32_t groups = ((uint32_t)four->channels + (uint32_t)four->lanes - 1) / (uint32_t)four->lanes;
    const uint32_t work = mote_much_times(mote_much_plus(mote_size(p->work), mote_size(four->work)), 2);
    return (four->work == 0 || (work <= room->scratch && p->work % 2 == 0)) && /* blocks work in words */
           mote_counts(p->work) && zeros != MOTE_MUCH &&
           (inside || (zeros <= room->scratch && zeros / 2 <= (uint32_t)p->work)) &&
           mote_holds(room, p->stream, mote_much_times(groups, mote_bytes_of(four->words, 4, 1)), 4);
}

/* Whether code leaves out the columns outside of the image, and no other ones, of the block at column x. */
static inline int mote_edge_is_for(const mote_block_built_t *b, const mote_blocks_s16_t *p, int32_t x) {
    const mote_span_t *const s = &p->cols;
    const int32_t pixels = mote_min(4, s->out_size - x), first = x * s->step - s->pad;
    const int32_t over = first + (pixels - 1) * s->step + s->taps - s->in_size;
    return mote_block_is_for(b, p, pixels) && b->left == (first < 0 ? -first : 0) && b->right == (over > 0 ? over : 0);
}

MOTE_NOINLINE int mote_edges_s16_fits(const mote_blocks_s16_t *p, const mote_room_t *room,
                                      const mote_block_built_t *first, const mote_block_built_t *middle,
                                      const mote_block_built_t *before, const mote_block_built_t *last) {
    const mote_span_t *const s = &p->cols;
    if (!mote_pixels_fit(&p->rows, s, room, p->in_channels, p->channels, 2) || s->spread != 1 ||
        !mote_within(p->rows.taps, 1, MOTE_MAX_TAPS) || p->in_channels != p->channels) {
        return 0;
    }
    for (int32_t x = 0; x < s->out_size; x += 4) {
        const int32_t left = s->out_size - x;
        if (!mote_edge_is_for(left <= 4 && x > 0 ? last : x == 0 ? first : left <= 8 ? before : middle, p, x)) {
            return 0;
        }
    }
    const uint32_t columns = mote_much_plus(mote_bytes_of(3, s->step, 1), mote_size(s->taps));
    const uint32_t zeros = mote_much_times(columns, mote_bytes_of(p->in_channels, 1, 2));
    const uint32_t groups = ((uint32_t)first->channels + (uint32_t)first->lanes - 1) / (uint32_t)first->lanes;
    return zeros != MOTE_MUCH && (mote_rows_inside(&p->rows, room) || zeros <= room->scratch) &&
           mote_holds(room, p->stream, mote_much_times(groups, mote_bytes_of(first->words, 4, 1)), 4);
}

#endif
