/* mote_depthwise_channels_s8_fits.h: whether parameters of the kernels in mote_depthwise_channels_s8.h fit. */
#ifndef MOTE_DEPTHWISE_CHANNELS_S8_FITS_H
#define MOTE_DEPTHWISE_CHANNELS_S8_FITS_H

#include "mote_depthwise_channels_s8.h"
#include "mote_lanes_fits.h"
#include "mote_padded_rows_fits.h"

/* What is built into the code. */
typedef struct {
    int32_t constants; /* of a channel */
    int32_t taps, columns, step, channels;
} mote_channels_built_t;

/* Which constants are shifts, where results are rounded twice. */
static inline int mote_channels_shifts_fit(const mote_depthwise_channels_t *p, int32_t count) {
    int fits = 1;
    for (int32_t i = 0; fits && count == MOTE_LANES_COUNT_twice && i < 16 * p->blocks; i++) {
        fits = mote_lane_shifts(p->constants[i / 4 * 12 + 8 + i % 4]);
    }
    return fits;
}

static inline int mote_channels_arrays_fit(const mote_depthwise_channels_t *p, const mote_room_t *room,
                                           const mote_channels_built_t *b) {
    return p->channels == b->channels && p->blocks == (p->channels + 15) / 16 && p->last == p->channels - 16 &&
           mote_array_fits(room, p->weights, p->blocks, b->taps * b->columns, 16, 1, 1) &&
           (uintptr_t)p->weights % 4 == 0 && mote_lanes_hold(room, p->constants, 16 * p->blocks, b->constants) &&
           p->lanes.scale > 0 && mote_channels_shifts_fit(p, b->constants);
}

/* Rows that are kept have all columns of all windows; of others there is one of padding where some are outside. */
static inline int mote_channels_padding_fits(const mote_depthwise_channels_t *p, const mote_room_t *room, uint32_t row) {
    const mote_span_t *const s = &p->cols;
    const int32_t taps = p->rows.taps;
    if (p->padded.size > 0) {
        return s->pad == 0 && (s->out_size - 1) * s->step + s->taps <= s->in_size &&
               room->scratch >= mote_much_plus(mote_bytes_of(taps, p->padded.size, 1), (uint32_t)p->padding);
    }
    return ((uint32_t)p->padding >= row || mote_rows_inside(&p->rows, room)) &&
           room->scratch >= mote_much_plus(mote_bytes_of(taps * s->taps, p->channels, 1), (uint32_t)p->padding);
}

MOTE_NOINLINE int mote_depthwise_channels_fit(const mote_depthwise_channels_t *p, const mote_room_t *room,
                                    const mote_channels_built_t *b) {
    const mote_span_t *const s = &p->cols;
    const uint32_t row = mote_bytes_of(s->in_size, b->channels, 1);
    return mote_channels_arrays_fit(p, room, b) && p->rows.taps == b->taps && s->taps == b->columns &&
           s->step == b->step && s->spread == 1 && mote_counts(p->padding) &&
           mote_padded_rows_fit(room, &p->rows, s, &p->padded, p->channels, row, 1) &&
           mote_channels_padding_fits(p, room, row);
}

#define MOTE_CHANNELS_CODE_FITS(id, constants, taps, columns, step, channels, form, shift) \
    static const mote_channels_built_t mote_channels_##id##_built = {constants, taps, columns, step, channels};

#define MOTE_CHANNELS_FITS(id) \
    MOTE_UNUSED static inline int mote_depthwise_##id##_fits(const mote_depthwise_channels_t *p, \
                                                             const mote_room_t *room) { \
        return mote_depthwise_channels_fit(p, room, &mote_##id##_built); \
    }

#endif
