/* mote_winograd_fits.h: whether parameters of the kernels in mote_winograd2_s8.h and its like fit. */
#ifndef MOTE_WINOGRAD_FITS_H
#define MOTE_WINOGRAD_FITS_H

#include "mote_blocks_fits.h"
#include "mote_present_fits.h"
#include "mote_winograd.h"

/* A form of tiles: rows and columns of one, the stride of windows, positions of inputs and of weights, words between
 * inputs, words of scratch before them, and pixels that are gathered at the edges of the image. */
typedef struct {
    int32_t size, stride, positions, weights, control, words, patch;
} mote_winograd_built_t;

/* Bytes of scratch. */
static inline uint32_t mote_winograd_scratch(const mote_winograd_t *p, const mote_winograd_built_t *b) {
    const int32_t inputs = b->control + b->positions * mote_winograd_stride(p->in_channels, b->control);
    return mote_much_plus(4 * (uint32_t)(b->words + inputs), mote_bytes_of(p->cols.in_size + b->patch, p->in_channels, 1));
}

MOTE_NOINLINE int mote_winograd_fits(const mote_winograd_t *p, const mote_room_t *room,
                                     const mote_winograd_built_t *b) {
    const mote_span_t *const s = &p->cols;
    const uint32_t in = mote_bytes_of(s->in_size, p->in_pixel, 1), out = mote_bytes_of(s->out_size, p->channels, 1);
    if (!mote_span_fits(s) || s->out_size == 0 || s->in_size == 0 || s->step != b->stride || p->rows.step != b->stride ||
        !mote_steps_short(p->in_channels | p->channels) || p->channels == 0 || p->channels % 2 != 0 ||
        p->in_pixel < 2 || /* words from all pixels but the last one end in the row */
        p->in_channels != ((p->in_pixel + 3) & ~3) || (b->stride == 2 && p->in_pixel % 4 != 0) ||
        !mote_within(p->tile_rows, 1, MOTE_WINOGRAD_ROWS / 4) || p->rows.taps != 3 ||
        (s->out_size - 1) * s->step - s->pad >= s->in_size) {
        return 0;
    }
    return mote_holds_words(room, p->weights, mote_bytes_of(p->channels / 2, 2 + b->weights * p->in_channels, 1)) &&
           mote_holds(room, p->channel, (uint32_t)p->channels * sizeof *p->channel, 4) &&
           room->scratch >= mote_winograd_scratch(p, b) &&
           (room->form == MOTE_RUN_ROWS ? mote_several_fit(room, 3, b->stride, in, out)
                                        : mote_window_fits(&p->rows, room, in, out, 1));
}

#define MOTE_WINOGRAD_FITS(name, ...) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_winograd_t *p, const mote_room_t *room) { \
        static const mote_winograd_built_t built = {__VA_ARGS__}; \
        return mote_winograd_fits(p, room, &built); \
    }

/* The same with biases that lie apart from weights. */
#define MOTE_WINOGRAD_LEARNED_FITS(form, name, products, tile) \
    MOTE_UNUSED static inline int mote_##name##_apart_fits(const mote_##name##_apart_t *p, const mote_room_t *room) { \
        return mote_##name##_fits(&p->layer, room) && \
               mote_array_fits(room, p->biases, p->layer.channels, 1, 1, 1, sizeof *p->biases); \
    }

#endif
