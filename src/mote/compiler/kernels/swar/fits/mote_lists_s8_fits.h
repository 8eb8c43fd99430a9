/* mote_lists_s8_fits.h: whether parameters of the kernels in mote_lists_s8.h fit. */
#ifndef MOTE_LISTS_S8_FITS_H
#define MOTE_LISTS_S8_FITS_H

#include "mote_lists_s8.h"
#include "mote_swar_s8_fits.h"

/* Whether the inputs that a channel's lists name are there; gives what is behind the lists, or NULL. */
MOTE_NOINLINE const int32_t *mote_lists_end(const int32_t *at, const mote_room_t *room, uint32_t bytes) {
    while (mote_holds(room, at, 4, 4) && *at++ != 0) {
        if (!mote_holds(room, at, 4, 4)) {
            return NULL;
        }
        const uint32_t count = (uint32_t)*at >> 16;
        uint32_t place = (uint32_t)*at++ & 0xffffu;
        if (count == 0 || place % 8 != 0 || !mote_holds(room, at, (count + 3) / 4 * 4, 4)) {
            return NULL;
        }
        for (uint32_t i = 0; i < count; i++, place += 8) {
            const uint32_t gap = (uint32_t)at[i / 4] >> 8 * (i % 4) & 0xff;
            place += gap;
            if (gap % 8 != 0 || place + 8 > bytes) {
                return NULL;
            }
        }
        at += (count + 3) / 4;
        if (!mote_holds(room, at, 4, 4)) {
            return NULL;
        }
    }
    return at;
}

/* Whether the stream has lists and `constants` for all channels. */
MOTE_NOINLINE int mote_lists_fit(const mote_swar_t *g, const mote_room_t *room, uint32_t constants) {
    const int32_t *at = g->stream;
    if (!mote_counts(g->groups | g->channels) || g->groups == 0 || g->slow != 0 || (const void *)at == (const void *)room ||
        !mote_within(g->channels, 1, g->pixel)) {
        return 0;
    }
    for (int32_t c = 0; c < g->channels; c++, at += constants) {
        if (!mote_holds(room, at, 12, 4)) {
            return 0;
        }
        at = mote_lists_end(at + 2, room, mote_much_times((uint32_t)g->groups, 32));
        if (at == NULL || !mote_holds(room, at, 4 + 4 * constants, 4)) {
            return 0;
        }
        const int32_t steps = *at++;
        if (steps != 0 ? !mote_within(at[1], -32, 31) : !mote_within(at[constants < MOTE_SWAR_plain32 ? 2 : 4], 0, 31)) {
            return 0;
        }
    }
    return 1;
}

#endif
