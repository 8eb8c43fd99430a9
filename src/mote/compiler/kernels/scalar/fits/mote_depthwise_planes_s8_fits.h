/* mote_depthwise_planes_s8_fits.h: checks of the parameters of mote_depthwise_planes_s8.h. */
#ifndef MOTE_DEPTHWISE_PLANES_S8_FITS_H
#define MOTE_DEPTHWISE_PLANES_S8_FITS_H

#include "mote_depthwise_planes_s8.h"
#include "mote_lanes_s8_fits.h"

/* Which of a channel's constants is a shift. */
#define MOTE_LANES_SHIFT_plain 3
#define MOTE_LANES_SHIFT_halves 3
#define MOTE_LANES_SHIFT_plain_full 3
#define MOTE_LANES_SHIFT_halves_full 3
#define MOTE_LANES_SHIFT_short 5
#define MOTE_LANES_SHIFT_short_halves 5

static inline int mote_lanes_shifts_fit(const int32_t *q, int32_t channels, int32_t constants, int32_t shift) {
    for (; channels > 0; channels--, q += constants) {
        if (!mote_within(q[shift], 0, 31)) {
            return 0;
        }
    }
    return 1;
}

/* Whether lists of spilled weights name words of windows that are so many bytes long. */
static inline int mote_lanes_spills(const int16_t *spill, const mote_room_t *room, int32_t channels, int32_t bytes) {
    for (; channels > 0; channels--) {
        if (!mote_holds(room, spill, 2, 2) || spill[0] < 0 || !mote_holds(room, spill, 2 + 4 * (uint32_t)spill[0], 2)) {
            return 0;
        }
        for (int32_t count = *spill++; count > 0; count--, spill += 2) {
            if (!mote_within(spill[0], 0, bytes - 1) || spill[0] % 4 != 0) {
                return 0;
            }
        }
    }
    return 1;
}

/* Whether there are weights and constants for windows over columns of `height` words, and room for those. */
static inline int mote_lanes_windows_fit(const mote_depthwise_planes_t *p, const mote_room_t *room, uint32_t height,
                                         int32_t constants, int32_t shift) {
    const mote_span_t *s = &p->cols;
    const uint32_t most = mote_count(p->in_channels, p->multiplier, 1, 1);
    if (!mote_span_fits(s) || !mote_counts(p->channels | p->taps) || s->taps < 1 || s->step < 1 || p->channels < 1 ||
        !mote_within(p->rows.taps, 1, MOTE_LONGEST) || p->rows.step < 1 ||
        most == MOTE_MUCH || (uint32_t)p->channels > most || height >= (uint32_t)MOTE_LONGEST || s->out_size < 1 ||
        p->taps != s->taps * ((p->rows.taps + 2) / 3 * 3)) {
        return 0;
    }
    const uint32_t columns = (uint32_t)mote_lanes_columns(p);
    const uint32_t words = mote_much_plus(mote_much_times(columns, height), (uint32_t)p->taps + 2);
    return mote_much_times(words, 4) <= room->scratch && mote_bytes_of(s->taps, (int32_t)height, 4) != MOTE_MUCH &&
           mote_holds(room, p->weights, mote_bytes_of(p->channels, p->taps, 1), 1) &&
           mote_holds(room, p->channel, mote_bytes_of(p->channels, constants, 4), 4) &&
           mote_lanes_shifts_fit(p->channel, p->channels, constants, shift) &&
           mote_lanes_spills(p->spill, room, p->channels, 4 * s->taps * (int32_t)height);
}

static inline int mote_depthwise_planes_fits(const mote_depthwise_planes_t *p, const mote_room_t *room,
                                             int32_t constants, int32_t shift) {
    const mote_window_t *w = &p->rows;
    const uint32_t in = mote_bytes_of(p->cols.in_size, p->in_channels, 1);
    const uint32_t out = mote_bytes_of(p->cols.out_size, p->channels, 1);
    return room->form == MOTE_RUN_WHOLE && mote_counts(w->in_rows | w->out_rows | w->in_stride | w->out_stride) &&
           mote_steps_short(w->pad | w->step | w->taps) && w->out_rows > 0 && w->out_rows < MOTE_LONGEST &&
           mote_lanes_windows_fit(p, room,
                                  mote_much_plus(mote_bytes_of(w->out_rows - w->out_rows / 2 - 1, w->step, 1),
                                                 (uint32_t)w->taps), constants, shift) &&
           in <= (uint32_t)w->in_stride && out <= (uint32_t)w->out_stride &&
           mote_takes(room, 0, mote_much_times(mote_size(p->images), mote_bytes_of(w->in_rows, w->in_stride, 1)), 1) &&
           mote_gives(room, mote_much_times(mote_size(p->images), mote_bytes_of(w->out_rows, w->out_stride, 1)), 1);
}

#endif
