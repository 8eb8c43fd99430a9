/* mote_gemm4_s8_fits.h: whether parameters of the kernels in mote_gemm4_s8.h fit. */
#ifndef MOTE_GEMM4_S8_FITS_H
#define MOTE_GEMM4_S8_FITS_H

#include "mote_gemm4_s8.h"
#include "mote_lanes_fits.h"
#include "mote_padded_rows_fits.h"
#include "mote_present_fits.h"

/* What is built into the code of pairs of pixels. */
typedef struct {
    int32_t constants; /* of a channel */
    int32_t steps;     /* vectors of sixteen products in a sum */
    int32_t apart;     /* pixels: bytes from one to the next */
    int32_t pixel;     /* channels */
} mote_gemm4_built_t;

/* Whether all channels can be shifted: constants of four lie in turns. */
static inline int mote_gemm4_shifts_fit(const mote_gemm4_t *g, int32_t count) {
    int fits = 1;
    for (int32_t i = 0; fits && count == MOTE_LANES_COUNT_twice && i < 4 * g->fours; i++) {
        fits = mote_lane_shifts(g->constants[i / 4 * 12 + 8 + i % 4]);
    }
    return fits;
}

/* Channels, weights and constants. */
MOTE_NOINLINE int mote_gemm4_fits(const mote_gemm4_t *g, const mote_room_t *room, const mote_gemm4_built_t *b) {
    return g->channels == b->pixel && g->channels >= 4 && g->fours == (g->channels + 3) / 4 &&
           g->last == g->channels - 4 && mote_array_fits(room, g->weights, g->fours, b->steps, 64, 1, 1) &&
           (uintptr_t)g->weights % 4 == 0 && mote_lanes_hold(room, g->constants, 4 * g->fours, b->constants) &&
           g->lanes.scale > 0 && mote_gemm4_shifts_fit(g, b->constants);
}

/* So many pixels in a row of `bytes`, and working memory for them. */
static inline int mote_pointwise4_pixels_fit(const mote_pointwise4_t *p, const mote_room_t *room,
                                             const mote_gemm4_built_t *b, int32_t pixels, uint32_t bytes) {
    const uint32_t pair = mote_bytes_of(2, p->apart, 1), vectors = 16 * (uint32_t)b->steps;
    const uint32_t copies = p->behind > 0 || pixels < 2 ? mote_much_plus(pair, 16) : 0;
    const uint32_t outputs = pixels < 2 ? 2 * (uint32_t)p->gemm.channels : 0;
    const int32_t last = pixels - 1 - p->behind;
    return (pixels == 0 || mote_much_plus(mote_bytes_of(pixels - 1, p->apart, 1), (uint32_t)p->depth) <= bytes) &&
           (last < 0 || mote_much_plus(mote_bytes_of(last, p->apart, 1), vectors) <= bytes) &&
           room->scratch >= mote_much_plus(copies, outputs);
}

/* A 1x1 convolution; `units`: of pixels, else of rows. */
MOTE_NOINLINE int mote_pointwise4_fits(const mote_pointwise4_t *p, const mote_room_t *room, const mote_gemm4_built_t *b,
                                       int32_t units) {
    const uint32_t out = mote_bytes_of(p->width, p->gemm.channels, 1);
    if (!mote_gemm4_fits(&p->gemm, room, b) || p->apart != b->apart ||
        !mote_within(p->depth, 1, p->apart) || !mote_counts(p->behind | p->width | p->step) || p->depth > 16 * b->steps) {
        return 0;
    }
    if (units) {
        return mote_asks_units(room) && room->in[0] % 4 == 0 &&
               mote_pointwise4_pixels_fit(p, room, b, room->hi, room->in[0]) &&
               mote_gives(room, mote_bytes_of(room->hi, p->gemm.channels, 1), 1);
    }
    if (room->form == MOTE_RUN_ROW) {
        return room->taps[0] > 0 && !(room->outside & 1) && room->in[0] % 4 == 0 &&
               mote_pointwise4_pixels_fit(p, room, b, p->width, room->in[0]) && mote_gives(room, out, 1);
    }
    return mote_asks_rows(room) && room->lo < room->hi && mote_counts(p->in_stride | p->out_stride) &&
           p->in_stride % 4 == 0 &&
           mote_pointwise4_pixels_fit(p, room, b, p->width, (uint32_t)p->in_stride) && out <= (uint32_t)p->out_stride &&
           mote_takes(room, 0, mote_much_times(mote_much_plus(mote_bytes_of(room->hi - 1, p->step, 1), 1),
                                               (uint32_t)p->in_stride), 1) &&
           mote_gives(room, mote_bytes_of(room->hi, p->out_stride, 1), 1);
}

MOTE_NOINLINE int mote_slide4_fits(const mote_slide4_t *p, const mote_room_t *room, const mote_gemm4_built_t *b,
                                   int32_t taps, int32_t columns, int32_t step, int32_t depth) {
    const mote_span_t *const s = &p->cols;
    const uint32_t spare = s->out_size < 2 ? (uint32_t)mote_gemm4_both(&p->gemm) : 0;
    const uint32_t copy = p->padded.size > 0 ? mote_bytes_of(taps, p->padded.size, 1) : mote_bytes_of(taps * p->span, depth, 1);
    return mote_gemm4_fits(&p->gemm, room, b) && p->rows.taps == taps && p->depth == depth && s->step == step &&
           p->span == step + columns &&
           mote_padded_rows_fit(room, &p->rows, s, &p->padded, p->gemm.channels, mote_bytes_of(s->in_size, depth, 1), 1) &&
           (p->padded.size == 0 || (s->pad == 0 && p->span <= s->in_size &&
                                    (s->out_size - 1) * step + columns <= s->in_size)) &&
           room->scratch >= mote_much_plus(spare, copy);
}

/* What is built into the code that packs windows; no taps: there is none. */
typedef struct {
    int32_t taps, line, step, apart;
} mote_windows4_built_t;

MOTE_NOINLINE int mote_windows4_fits(const mote_windows4_t *p, const mote_room_t *room, const mote_gemm4_built_t *b,
                                     const mote_windows4_built_t *pack) {
    const mote_span_t *const s = &p->cols;
    const int32_t taps = p->rows.taps;
    const uint32_t row = mote_bytes_of(s->in_size, p->depth, 1), line = mote_bytes_of(s->taps, p->depth, 1);
    const uint32_t packed = mote_much_plus(mote_bytes_of(p->batch, p->apart, 1), 16);
    const uint32_t kept = p->padded.size > 0 ? mote_bytes_of(taps, p->padded.size, 1) : 0;
    if (!mote_gemm4_fits(&p->gemm, room, b) || !mote_counts(p->depth | p->batch | p->padding) || p->depth == 0 ||
        p->batch == 0 || p->batch % 2 != 0 || p->apart != b->apart ||
        !mote_padded_rows_fit(room, &p->rows, s, &p->padded, p->gemm.channels, row, 0) ||
        mote_much_times((uint32_t)taps, line) > (uint32_t)p->apart || s->taps == 0 || s->pad > s->taps * s->spread) {
        return 0;
    }
    if (pack->taps > 0 && (pack->taps != taps || (uint32_t)pack->line != line || pack->step != s->step * p->depth ||
                           pack->apart != p->apart || s->spread != 1 ||
                           (p->padded.size == 0 && (uint32_t)p->padding < row && !mote_rows_inside(&p->rows, room)))) {
        return 0;
    }
    return room->scratch >= mote_much_plus(mote_much_plus((uint32_t)mote_gemm4_both(&p->gemm), packed), mote_much_plus((uint32_t)p->padding, kept));
}

#define MOTE_GEMM4_CODE_FITS(id, constants, steps, apart, pixel, form, shift) \
    static const mote_gemm4_built_t mote_gemm4_##id##_built = {constants, steps, apart, pixel};
#define MOTE_SLIDE4_CODE_FITS(id, constants, taps, columns, step, depth, pixel, form, shift) \
    static const mote_gemm4_built_t mote_slide4_##id##_built = {constants, (taps) * (columns) * (depth) / 16, 0, \
                                                                pixel}; \
    MOTE_UNUSED static inline int mote_conv4_##id##_fits(const mote_slide4_t *p, const mote_room_t *room) { \
        return mote_slide4_fits(p, room, &mote_slide4_##id##_built, taps, columns, step, depth); \
    }
#define MOTE_WINDOWS4_CODE_FITS(id, taps, line, step, apart) \
    static const mote_windows4_built_t mote_windows4_##id##_built = {taps, line, step, apart};

/* Where `pack` is NULL. */
MOTE_UNUSED static const mote_windows4_built_t NULL_built = {0, 0, 0, 0};

#endif
