/* mote_blocks_s16.h: windows over int16 images, four neighbouring pixels of a row at a time: what surrounds the code that
 * instruction sets have for such a block. All columns under a block lie one after another in each row, so that the
 * inputs of its pixels are a constant distance apart. Rows and columns outside of the image are zeros in working memory:
 * `rows.taps` lines of as many columns as four windows cover, or, `whole`, all windows of a row. */
#ifndef MOTE_BLOCKS_S16_H
#define MOTE_BLOCKS_S16_H

#include <string.h>

#include "mote_copy_s16.h"
#include "mote_wide.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, channels;
    int32_t flat;          /* 1: windows are pixels, rows may be computed as one; 2: so they are */
    int32_t whole;         /* 1: lines in working memory are for whole rows */
    int32_t work;          /* elements of working memory before what blocks work in themselves */
    const int32_t *stream; /* biases, weights and multipliers in the order of use */
} mote_blocks_s16_t;

/* The work of one call: some pixels of a row, all of their channels. */
typedef struct {
    const int32_t *stream;
    int16_t *to, *work;
    const int16_t *from[MOTE_MAX_TAPS]; /* the first column under the block in each row of the window */
    int32_t until;                      /* before this pixel, the columns under the next block lie right behind */
} mote_block_s16_t;

/* The columns under a block from column `first` on, of which the image may have none. */
static inline void mote_blocks_s16_line(const mote_blocks_s16_t *p, const int16_t *row, int32_t first, int32_t columns,
                                        int16_t *to) {
    const int32_t c = p->in_channels, lo = first < 0 ? -first : 0, hi = mote_min(columns, p->cols.in_size - first);
    if (row == NULL || hi <= lo) {
        mote_zeros_s16(columns * c, to);
        return;
    }
    to = mote_zeros_s16(lo * c, to);
    to = mote_copy_s16(row + (first + lo) * c, (hi - lo) * c, to);
    mote_zeros_s16((columns - hi) * c, to);
}

/* How many windows from column `first` on are inside of the image, where all rows are. */
static inline int32_t mote_blocks_s16_inside(const mote_blocks_s16_t *p, const int16_t *const *rows, int32_t first) {
    const int32_t room = p->cols.in_size - p->cols.taps - first;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        if (rows[k] == NULL) {
            return 0;
        }
    }
    return first < 0 || room < 0 ? 0 : p->cols.step == 1 ? room + 1 : room / p->cols.step + 1;
}

/* The block at column x of the output: how many pixels it has, 0 behind the last one. Rows that are computed as one end
 * with four pixels, some of which are computed again. */
MOTE_NOINLINE int32_t mote_blocks_s16_next(const mote_blocks_s16_t *p, const int16_t *const *rows, int32_t x,
                                           int16_t *out, int16_t *scratch, mote_block_s16_t *block) {
    const mote_span_t *const s = &p->cols;
    const int32_t left = s->out_size - x, again = p->flat == 2 && left < 4 && s->out_size > 3 ? 4 - left : 0;
    const int32_t pixels = mote_min(4, left + again), at = x - again, c = p->in_channels;
    if (left <= 0) {
        return 0;
    }
    block->to = out + at * p->channels;
    if (x > 0 && at + pixels <= block->until) {
        const int32_t further = (4 - again) * s->step * c;
        for (int32_t k = 0; k < p->rows.taps; k++) {
            block->from[k] += further;
        }
        return pixels;
    }
    const int32_t first = at * s->step - s->pad, columns = ((p->whole ? s->out_size : pixels) - 1) * s->step + s->taps;
    const int32_t pitch = p->whole ? columns : 3 * s->step + s->taps, inside = first >= 0 && first + columns <= s->in_size;
    block->stream = p->stream;
    block->work = scratch + p->work;
    for (int32_t k = 0; k < p->rows.taps; k++, scratch += pitch * c) {
        block->from[k] = inside && rows[k] != NULL ? rows[k] + first * c : scratch;
        if (block->from[k] == scratch) {
            mote_blocks_s16_line(p, rows[k], first, columns, scratch);
        }
    }
    block->until = p->whole ? s->out_size : at + mote_blocks_s16_inside(p, rows, first);
    return pixels;
}

/* The kernel `mote_<name>`, from functions for four pixels and for those that a row has left over. */
#define MOTE_BLOCKS_S16(name, four, rest) \
    typedef mote_blocks_s16_t mote_##name##_t; \
    MOTE_NOINLINE void mote_##name##_row(const mote_blocks_s16_t *p, const int16_t *const *rows, int16_t *out, \
                                         int16_t *scratch) { \
        mote_block_s16_t block; \
        int32_t pixels; \
        for (int32_t x = 0; (pixels = mote_blocks_s16_next(p, rows, x, out, scratch, &block)) > 0; x += pixels) { \
            if (pixels == 4) { \
                mote_##four(&block); \
            } else { \
                mote_##rest(&block); \
            } \
        } \
    } \
    MOTE_UNUSED static inline void mote_##name(const mote_blocks_s16_t *p, const int16_t *in, int16_t *out, int32_t lo, \
                                               int32_t hi, int16_t *scratch) { \
        const int16_t *rows[MOTE_MAX_TAPS]; \
        if (p->flat && hi > lo) { \
            mote_blocks_s16_t all = *p; \
            all.flat = 2; \
            all.cols.in_size = all.cols.out_size = (hi - lo) * p->cols.out_size; \
            rows[0] = in + lo * p->rows.in_stride; \
            mote_##name##_row(&all, rows, out + lo * p->rows.out_stride, scratch); \
            return; \
        } \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s16(&p->rows, in, y, rows); \
            mote_##name##_row(p, rows, out + y * p->rows.out_stride, scratch); \
        } \
    }

/* The same of code that leaves out columns outside of the image; a row outside of it is zeros in working memory. */
MOTE_NOINLINE int32_t mote_edges_s16_next(const mote_blocks_s16_t *p, const int16_t *const *rows, int32_t x,
                                          int16_t *out, int16_t *scratch, mote_block_s16_t *block) {
    const mote_span_t *const s = &p->cols;
    const int32_t pixels = mote_min(4, s->out_size - x), first = x * s->step - s->pad;
    if (pixels <= 0) {
        return 0;
    }
    block->stream = p->stream;
    block->to = out + x * p->channels;
    block->work = scratch;
    for (int32_t k = 0, cleared = x; k < p->rows.taps; k++) {
        block->from[k] = rows[k] != NULL ? rows[k] + (first > 0 ? first * p->in_channels : 0) : scratch;
        if (rows[k] == NULL && cleared == 0) {
            memset(scratch, 0, (size_t)((3 * s->step + s->taps) * p->in_channels) * sizeof *scratch);
            cleared = 1;
        }
    }
    return pixels;
}

/* The kernel `mote_<name>`, from functions for the first block of a row, those that follow, the last but one and the last
 * one. */
#define MOTE_EDGES_S16(name, first, middle, before, last) \
    typedef mote_blocks_s16_t mote_##name##_t; \
    MOTE_NOINLINE void mote_##name##_row(const mote_blocks_s16_t *p, const int16_t *const *rows, int16_t *out, \
                                         int16_t *scratch) { \
        mote_block_s16_t block; \
        int32_t pixels; \
        for (int32_t x = 0; (pixels = mote_edges_s16_next(p, rows, x, out, scratch, &block)) > 0; x += pixels) { \
            const int32_t left = p->cols.out_size - x; \
            if (left <= 4 && x > 0) { \
                mote_##last(&block); \
            } else if (x == 0) { \
                mote_##first(&block); \
            } else if (left <= 8) { \
                mote_##before(&block); \
            } else { \
                mote_##middle(&block); \
            } \
        } \
    } \
    MOTE_UNUSED static inline void mote_##name(const mote_blocks_s16_t *p, const int16_t *in, int16_t *out, int32_t lo, \
                                               int32_t hi, int16_t *scratch) { \
        const int16_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s16(&p->rows, in, y, rows); \
            mote_##name##_row(p, rows, out + y * p->rows.out_stride, scratch); \
        } \
    }

#endif
