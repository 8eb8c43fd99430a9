/* mote_gemm3_s8_fits.h: whether parameters of the kernels in mote_gemm3_s8.h fit, and what those that are made of them
 * share. */
#ifndef MOTE_GEMM3_S8_FITS_H
#define MOTE_GEMM3_S8_FITS_H

#include "mote_blocks_fits.h"
#include "mote_gemm3_s8.h"
#include "mote_present_fits.h"

/* The form of a kernel: bits. */
enum {
    MOTE_FORM_wide = 0,
    MOTE_FORM_pair = 1,
    MOTE_FORM_nhwc = 0,
    MOTE_FORM_linear = 2,
    MOTE_FORM_planar = 4,
    MOTE_FORM_all = 0,
    MOTE_FORM_sparse2 = 8,
    MOTE_FORM_sparse4 = 16,
    MOTE_FORM_added = 32,
    MOTE_FORM_once = 64 | MOTE_FORM_pair
};

/* Words of constants behind the weights of two channels. */
static inline uint32_t mote_gemm3_constants(int32_t form) {
    const uint32_t linear = (form & MOTE_FORM_linear) != 0;
    return form & MOTE_FORM_pair ? 4 + linear + (uint32_t)(form >> 6 & 1) : 4 + 2 * linear;
}

/* Whether the shifts of pairs of channels, bytes of the second or third of their constants, are those of a kernel. */
static inline int mote_gemm3_shifts_fit(const int32_t *constants, int32_t pairs, uint32_t step, int32_t form) {
    for (constants += 1 + (form >> 6 & 1); pairs > 0; pairs--, constants += step) {
        if (*constants & 0xe0e0) {
            return 0;
        }
    }
    return 1;
}

/* The weights and constants of all pairs of channels, one behind another, for sums of `steps` times two products. */
MOTE_NOINLINE int mote_gemm3_stream_fits(const mote_room_t *room, const int32_t *stream, int32_t pairs, int32_t steps,
                                         int32_t form) {
    const uint32_t weights = (uint32_t)steps * (form & MOTE_FORM_pair ? 1 : 2), constants = mote_gemm3_constants(form);
    const uint32_t words = 2 + weights + constants, begin = form & MOTE_FORM_added ? 3 : 0;
    if (!mote_holds_words(room, stream, mote_much_plus(begin, mote_much_times((uint32_t)pairs, words)))) {
        return 0;
    }
    return !(form & MOTE_FORM_pair) || (const void *)stream == (const void *)room || /* what is decoded later */
           mote_gemm3_shifts_fit(stream + begin + 2 + weights, pairs, words, form);
}

/* The same without blocks of zeros, in a stream of as many words as it says. Behind its constants a pair has the places
 * of its outputs, `most` at most. */
MOTE_NOINLINE int mote_gemm3_blocks_fit(const mote_room_t *room, const int32_t *stream, int32_t pairs, uint32_t inputs,
                                        int32_t form, int32_t most) {
    const uint32_t lanes = form & MOTE_FORM_pair ? 1 : 2, words = form & MOTE_FORM_sparse2 ? 1 : 2;
    const mote_blocks_t block = {1 + lanes * words, lanes, 12 * words};
    const uint32_t constants = mote_gemm3_constants(form);
    const int32_t *at = stream + 1;
    if (!mote_holds_words(room, stream, 1) || *stream < 0) {
        return 0;
    }
    for (; pairs > 0; pairs--) {
        const uint32_t weights = mote_blocks_words(room, at + 2, block, inputs);
        if (weights == MOTE_MUCH || !mote_holds_words(room, at, 2 + weights + constants + 2)) {
            return 0;
        }
        at += 2 + weights;
        if (form & MOTE_FORM_pair && !mote_gemm3_shifts_fit(at, 1, 0, form)) {
            return 0;
        }
        at += constants + 2;
        if (!mote_within(at[-2], 0, most) || !mote_within(at[-1], 0, most)) {
            return 0;
        }
    }
    return at - stream - 1 == *stream;
}

/* Bytes that are written of an output row of so many pixels; MOTE_MUCH where it is not what the kernels write. */
static inline uint32_t mote_gemm3_row(const mote_gemm3_t *g, int32_t width, int32_t form) {
    if (form & MOTE_FORM_planar) {
        const int fits = g->planes % 4 == 0 && mote_counts(g->planes | g->before | width) &&
                         g->before + width <= g->planes;
        return fits ? mote_bytes_of(g->channels, g->planes, 1) : MOTE_MUCH;
    }
    return g->planes == 0 && mote_within(g->channels, 1, g->pixel)
               ? mote_rows_bytes(width, (uint32_t)g->pixel, (uint32_t)g->channels) : MOTE_MUCH;
}

/* Whether rows lie so far apart as kernels take for granted, which may write some of the channels only. */
static inline int mote_gemm3_apart(const mote_gemm3_t *g, int32_t width, int32_t form, int32_t stride) {
    if (form & MOTE_FORM_planar) {
        return mote_counts(stride) && stride % 4 == 0 && (uint32_t)stride >= mote_bytes_of(g->channels, g->planes, 1);
    }
    return mote_size(stride) == mote_bytes_of(width, g->pixel, 1);
}

/* Whether there is room for outputs, which are stored byte by byte, but padding in planar rows word by word; and for as
 * much in another operand, where that is added. */
static inline int mote_gemm3_gives(const mote_room_t *room, uint32_t bytes, int32_t form) {
    return mote_gives(room, bytes, form & MOTE_FORM_planar ? 4 : 1) &&
           (!(form & MOTE_FORM_added) || mote_takes(room, 1, bytes, 1));
}

/* Channels, weights and constants. */
MOTE_NOINLINE int mote_gemm3_fits(const mote_gemm3_t *g, const mote_room_t *room, int32_t form) {
    const int32_t pairs = g->channels / 2 + g->channels % 2;
    if (!mote_counts(g->channels | g->depth) || g->channels == 0 || g->depth < 4 || g->depth % 4 != 0 ||
        (form & MOTE_FORM_added && (g->channels % 2 != 0 || g->channels != g->pixel))) {
        return 0;
    }
    if (form & (MOTE_FORM_sparse2 | MOTE_FORM_sparse4)) {
        const uint32_t most = mote_bytes_of(g->channels - 1, form & MOTE_FORM_planar ? g->planes : 1, 1);
        return most != MOTE_MUCH &&
               mote_gemm3_blocks_fit(room, g->stream, pairs, 6 * (uint32_t)g->depth, form, (int32_t)most);
    }
    return mote_gemm3_stream_fits(room, g->stream, pairs, g->depth / 2, form);
}

/* A 1x1 convolution of `units` pixels, or of rows of them. */
MOTE_NOINLINE int mote_pointwise3_room_fits(const mote_pointwise3_t *p, const mote_room_t *room, int32_t form,
                                            int32_t units) {
    const uint32_t in = mote_bytes_of(p->width, p->in_channels, 1), out = mote_gemm3_row(&p->gemm, p->width, form);
    if (!mote_counts(p->width | p->in_channels) || p->width == 0 || p->in_channels == 0 || out == MOTE_MUCH) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROWS) {
        const mote_window_t one = {0, 0, 0, 0, 1, 1, 1, 0};
        return mote_rows_inside(&one, room) && mote_several_fit(room, 1, 1, in, out) &&
               mote_gemm3_gives(room, out, form);
    }
    if (units) {
        return mote_asks_units(room) && !(form & MOTE_FORM_planar) &&
               mote_takes(room, 0, mote_bytes_of(room->hi, p->in_channels, 1), 1) &&
               mote_gemm3_gives(room, mote_gemm3_row(&p->gemm, room->hi, form), form);
    }
    return mote_asks_rows(room) && room->lo < room->hi && mote_size(p->in_stride) == in &&
           mote_gemm3_apart(&p->gemm, p->width, form, p->out_stride) &&
           mote_takes(room, 0, mote_much_times((uint32_t)room->hi, in), 1) &&
           mote_gemm3_gives(room, mote_rows_bytes(room->hi, (uint32_t)p->out_stride, out), form);
}

MOTE_NOINLINE int mote_pointwise3_fits(const mote_pointwise3_t *p, const mote_room_t *room, int32_t form,
                                       int32_t units) {
    return mote_gemm3_fits(&p->gemm, room, form) && p->gemm.depth == p->in_channels &&
           room->scratch >= 6 * (uint32_t)p->gemm.depth + 4 * MOTE_GEMM3_TAIL_WORDS &&
           mote_pointwise3_room_fits(p, room, form, units);
}

/* The rows of any window, and what is added: by rows that is behind the rows of the window. */
MOTE_NOINLINE int mote_conv3_room_fits(const mote_patch_t *w, const mote_gemm3_t *g, const mote_room_t *room,
                                       int32_t form) {
    const uint32_t out = mote_gemm3_row(g, w->cols.out_size, form), in = mote_bytes_of(w->cols.in_size, w->in_channels, 1);
    const int32_t taps = w->rows.taps, by_row = room->form == MOTE_RUN_ROW;
    if (!mote_counts(w->in_channels) || w->in_channels == 0 || !mote_span_fits(&w->cols) || w->cols.taps == 0 ||
        w->cols.out_size == 0 || !mote_steps_short(taps | w->rows.step) || taps == 0 || out == MOTE_MUCH ||
        !mote_gemm3_apart(g, w->cols.out_size, form, w->rows.out_stride) || room->lo >= room->hi) {
        return 0;
    }
    if (room->form == MOTE_RUN_ROWS) {
        return mote_several_fit(room, taps, w->rows.step, in, out) && mote_gemm3_gives(room, out, form);
    }
    if (form & MOTE_FORM_added && by_row && (room->taps[0] != taps || room->outside >> 1 & 1)) {
        return 0;
    }
    return mote_window_fits(&w->rows, room, in, out, 1) &&
           mote_gemm3_gives(room, by_row ? out : mote_rows_bytes(room->hi, (uint32_t)w->rows.out_stride, out), form);
}

MOTE_NOINLINE int mote_conv3_fits(const mote_conv3_t *p, const mote_room_t *room, int32_t form) {
    const mote_patch_t *const w = &p->patch;
    const uint32_t line = mote_bytes_of(w->cols.taps, w->in_channels, 1), taps = (uint32_t)w->rows.taps;
    const uint32_t left = (taps * (line % 4) + 3) & ~(uint32_t)3, depth = (uint32_t)p->gemm.depth;
    return mote_gemm3_fits(&p->gemm, room, form) && mote_conv3_room_fits(w, &p->gemm, room, form) &&
           mote_much_plus(mote_much_times(taps, line & ~(uint32_t)3), left) == depth &&
           room->scratch >= 6 * depth + 4 * MOTE_GEMM3_TAIL_WORDS + 3 * left + ((line + 3) & ~(uint32_t)3) + taps * line;
}

#endif
