/* mote_gemm4x2_s8_fits.h: whether parameters of the kernels in mote_gemm4x2_s8.h fit. */
#ifndef MOTE_GEMM4X2_S8_FITS_H
#define MOTE_GEMM4X2_S8_FITS_H

#include "mote_gemm3_s8_fits.h"
#include "mote_gemm4x2_s8.h"

/* What is built into the code of a layer. */
typedef struct {
    int32_t form;              /* bits: see mote_gemm3_s8_fits.h */
    int32_t line;              /* bytes from a channel's output to that of the next; 0: any */
    int32_t taps, words, rest; /* of a window; no taps: a pixel; less: inputs that are there, widened; no words: any */
    int32_t near, place;       /* whether four outputs lie at known distances: for pixels of so many channels or, in
                                  planar rows, for so many bytes of padding (modulo four) before a line */
    int32_t fours;             /* whether channels are computed in fours */
    int32_t apart;             /* bytes of scratch before biases that are learned; 0: biases are in the stream */
} mote_gemm4x2_built_t;

enum { MOTE_GEMM4X2_MOST_STEPS = 1023 };

/* Words of a line of a window; 0 where the code cannot compute such sums. */
static inline int32_t mote_gemm4x2_words(const mote_gemm3_t *g, const mote_gemm4x2_built_t *b) {
    const int32_t products = b->taps > 0 ? 4 * b->taps : 4;
    if (b->words > 0 || b->rest > 0) {
        return b->words;
    }
    return mote_within(g->depth, products, 2 * MOTE_GEMM4X2_MOST_STEPS) && g->depth % products == 0
               ? g->depth / products : 0;
}

/* Pairs of products in a sum. */
static inline int32_t mote_gemm4x2_steps(const mote_gemm3_t *g, const mote_gemm4x2_built_t *b) {
    const int32_t lines = b->taps > 0 ? b->taps : 1;
    return 2 * lines * mote_gemm4x2_words(g, b) + (lines * b->rest + 1) / 2;
}

/* Whether the code is for these weights and rows of so many pixels. */
MOTE_NOINLINE int mote_gemm4x2_fits(const mote_gemm3_t *g, const mote_room_t *room, const mote_gemm4x2_built_t *b,
                                    int32_t width) {
    const int32_t planar = (b->form & MOTE_FORM_planar) != 0;
    return mote_counts(g->channels) && g->channels > 0 && g->channels % (b->fours ? 4 : 2) == 0 &&
           (!(b->form & MOTE_FORM_added) || g->channels == g->pixel) &&
           (b->line == 0 || b->line == (planar ? g->planes : 1)) && mote_gemm4x2_steps(g, b) > 0 && (!b->near || width % 4 == 0) &&
           (!b->near || b->place == (planar ? g->before % 4 : g->pixel)) &&
           (b->apart == 0 || room->scratch >= mote_much_plus((uint32_t)b->apart, mote_count(g->channels, 4, 1, 1))) &&
           mote_gemm3_stream_fits(room, g->stream, g->channels / 2, mote_gemm4x2_steps(g, b), b->form);
}

MOTE_NOINLINE int mote_pointwise4x2_fits(const mote_pointwise3_t *p, const mote_room_t *room,
                                         const mote_gemm4x2_built_t *b) {
    return mote_gemm4x2_fits(&p->gemm, room, b, p->width) && p->in_channels == 4 * mote_gemm4x2_words(&p->gemm, b) &&
           room->scratch >= 16 * (uint32_t)mote_gemm4x2_steps(&p->gemm, b) && mote_pointwise3_room_fits(p, room, b->form, 0);
}

/* Whether all windows lie inside of the image. */
static inline int mote_conv4x2_in_image(const mote_patch_t *w, const mote_room_t *room) {
    const mote_span_t *const s = &w->cols;
    return s->pad == 0 && (s->out_size - 1) * s->step + s->taps <= s->in_size && mote_rows_inside(&w->rows, room);
}

MOTE_NOINLINE int mote_conv4x2_fits(const mote_conv4x2_t *p, const mote_room_t *room, const mote_gemm4x2_built_t *b) {
    const mote_patch_t *const w = &p->patch;
    const uint32_t line = mote_bytes_of(w->cols.taps, w->in_channels, 1), taps = (uint32_t)w->rows.taps;
    if (!mote_gemm4x2_fits(&p->gemm, room, b, w->cols.out_size) || !mote_conv3_room_fits(w, &p->gemm, room, b->form) ||
        w->rows.taps != b->taps || b->taps > MOTE_GEMM4X2_FROM || line != (uint32_t)(4 * mote_gemm4x2_words(&p->gemm, b) + b->rest)) {
        return 0;
    }
    const uint32_t four = mote_much_plus(mote_bytes_of(3 * w->cols.step, w->in_channels, 1), line);
    const uint32_t waiting = w->cols.out_size % 4 != 0 ? mote_much_times(4 * taps, line) : 0;
    const uint32_t columns = mote_conv4x2_in_image(w, room) ? 0 : mote_much_times(taps, four);
    return room->scratch >= 16 * (uint32_t)mote_gemm4x2_steps(&p->gemm, b) &&
           room->scratch >= mote_much_plus(mote_size(p->waiting), waiting) &&
           room->scratch >= mote_much_plus(mote_size(p->columns), w->cols.out_size < 4 ? 0 : columns);
}

#define MOTE_GEMM4X2_CODE_FITS(id, weights, out, s, line, taps, words, rest, near, place, fours) \
    static const mote_gemm4x2_built_t mote_gemm4x2_##id##_built = { \
        MOTE_FORM_##weights | MOTE_FORM_##out, line, taps, words, rest, near, place, fours, 0};
#define MOTE_GEMM4X2_APART_CODE_FITS(id, weights, out, s, line, taps, words, rest, apart, near, place, fours) \
    static const mote_gemm4x2_built_t mote_gemm4x2_##id##_built = { \
        MOTE_FORM_##weights | MOTE_FORM_##out, line, taps, words, rest, near, place, fours, apart};
#define MOTE_GEMM4X2_ANY_CODE_FITS(id, weights, out, s) \
    enum { mote_gemm4x2_##id##_form = MOTE_FORM_##weights | MOTE_FORM_##out };

#endif
