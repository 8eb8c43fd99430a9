/* mote_swar_s8_fits.h: whether parameters of the kernels in mote_swar_s8.h fit. */
#ifndef MOTE_SWAR_S8_FITS_H
#define MOTE_SWAR_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_present_fits.h"
#include "mote_swar_s8.h"

/* Whether the stream has weights, products that are left over and `constants` for all channels, and the list those of
 * channels that are computed once more, in their order. */
MOTE_NOINLINE int mote_swar_fits(const mote_swar_t *g, const mote_room_t *room, uint32_t constants) {
    if (!mote_counts(g->groups | g->channels | g->slow) || g->groups == 0 || g->channels == 0 ||
        !mote_within(g->channels, 1, g->pixel) || g->slow > g->channels ||
        (g->slow > 0 && !mote_holds(room, g->again, (uint32_t)g->slow * sizeof *g->again, 4)) ||
        (const void *)g->stream == (const void *)room || (const void *)g->again == (const void *)room) {
        return 0;
    }
    const uint32_t weights = 1 + 2 * (uint32_t)g->groups;
    const int32_t *at = g->stream;
    int32_t slow = 0;
    for (int32_t c = 0; c < g->channels; c++) {
        if (!mote_holds(room, at, 4 * (weights + 1), 4)) {
            return 0;
        }
        if (slow < g->slow && g->again[slow].channel == c) {
            const mote_swar_again_t *const q = g->again + slow++;
            if (q->at != at - g->stream || !mote_within(q->shift, mote_least_shift(&g->output), 31)) {
                return 0;
            }
        }
        at += weights;
        const int32_t left = *at++;
        if (!mote_counts(left) || !mote_holds(room, at, 4 * (2 * (uint32_t)left + constants), 4)) {
            return 0;
        }
        for (int32_t k = 0; k < left; k++, at += 2) {
            if (*at % 8 != 0 || !mote_within(*at, 0, 32 * g->groups - 24)) {
                return 0;
            }
        }
        if (!mote_within(at[constants < MOTE_SWAR_plain32 ? 2 : 4], 0, 31)) {
            return 0;
        }
        at += constants;
    }
    return slow == g->slow;
}

/* Bytes that are written of so many pixels. */
static inline uint32_t mote_swar_row(const mote_swar_t *g, int32_t pixels) {
    return mote_rows_bytes(pixels, (uint32_t)g->pixel, (uint32_t)g->channels);
}

/* Whether inputs and outputs are there, for a stream that fits. */
MOTE_NOINLINE int mote_pointwise_swar_places(const mote_pointwise_swar_t *p, const mote_room_t *room) {
    const mote_swar_t *const g = &p->gemm;
    if (!mote_counts(p->width) || p->width == 0 ||
        room->scratch < mote_much_times((uint32_t)g->groups, 32)) {
        return 0;
    }
    const uint32_t pixel = 4 * (uint32_t)g->groups;
    if (room->form == MOTE_RUN_ROWS) {
        const mote_window_t one = {0, 0, 0, 0, 1, 1, 1, 0};
        const uint32_t out = mote_swar_row(g, p->width);
        return mote_rows_inside(&one, room) &&
               mote_several_fit(room, 1, 1, mote_much_times((uint32_t)p->width, pixel), out) &&
               mote_gives(room, out, 1);
    }
    return mote_asks_units(room) && mote_takes(room, 0, mote_much_times((uint32_t)room->hi, pixel), 1) &&
           mote_gives(room, mote_swar_row(g, room->hi), 1);
}

static inline int mote_pointwise_swar_fits(const mote_pointwise_swar_t *p, const mote_room_t *room,
                                           uint32_t constants) {
    return mote_swar_fits(&p->gemm, room, constants) && mote_pointwise_swar_places(p, room);
}

MOTE_NOINLINE int mote_conv_swar_places(const mote_conv_swar_t *p, const mote_room_t *room, uint32_t constants) {
    const mote_patch_t *const w = &p->patch;
    const mote_swar_t *const g = &p->gemm;
    const int32_t taps = w->rows.taps, aligned = constants < MOTE_SWAR_plain32 ? 1 : 4;
    if (!mote_span_fits(&w->cols) || !mote_counts(w->in_channels) ||
        w->in_channels == 0 || w->cols.taps == 0 || w->cols.out_size == 0 || !mote_steps_short(taps | w->rows.step) ||
        taps == 0 || room->lo >= room->hi || room->scratch < mote_much_times((uint32_t)g->groups, 36) ||
        mote_count(taps, w->cols.taps, w->in_channels, 1) > 4 * (uint32_t)g->groups) {
        return 0;
    }
    if (p->direct && (w->cols.spread != 1 || w->cols.taps * w->in_channels % 4 != 0 || w->in_channels % aligned != 0)) {
        return 0;
    }
    const uint32_t in = mote_bytes_of(w->cols.in_size, w->in_channels, 1), out = mote_swar_row(g, w->cols.out_size);
    if (room->form == MOTE_RUN_ROWS) {
        return mote_several_fit(room, taps, w->rows.step, in, out) && mote_gives(room, out, 1);
    }
    return mote_window_fits(&w->rows, room, in, out, 1);
}

static inline int mote_conv_swar_fits(const mote_conv_swar_t *p, const mote_room_t *room, uint32_t constants) {
    return mote_swar_fits(&p->gemm, room, constants) && mote_conv_swar_places(p, room, constants);
}

#endif
