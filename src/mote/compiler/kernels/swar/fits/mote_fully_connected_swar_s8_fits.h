/* mote_fully_connected_swar_s8_fits.h: whether parameters of the kernels in mote_fully_connected_swar_s8.h fit. */
#ifndef MOTE_FULLY_CONNECTED_SWAR_S8_FITS_H
#define MOTE_FULLY_CONNECTED_SWAR_S8_FITS_H

#include "mote_common_fits.h"
#include "mote_fully_connected_swar_s8.h"

/* Whether the stream has all of four channels, or of those that are left, from `at` on, and the list those of them that
 * are computed once more; gives what is behind them, or NULL. */
MOTE_NOINLINE const int32_t *mote_fc_swar_four_fit(const mote_fully_connected_swar_t *p, const mote_room_t *room,
                                                   const int32_t *at, int32_t c, uint32_t constants, int32_t *slow) {
    const int32_t *const begin = at;
    if (!mote_holds(room, at, mote_much_plus(16, mote_much_times((uint32_t)p->groups, 16)), 4)) {
        return NULL;
    }
    at += 4 + 4 * p->groups;
    for (const int32_t end = mote_min(c + 4, p->channels); c < end; c++) {
        if (*slow < p->slow && p->again[*slow].channel == c) {
            const mote_fc_swar_again_t *const q = p->again + (*slow)++;
            if (q->at != begin - p->stream || !mote_within(q->shift, mote_least_shift_fc(p->round_once), 31)) {
                return NULL;
            }
        }
        if (!mote_holds(room, at, 4, 4) || !mote_counts(*at) ||
            !mote_holds(room, at, 4 * (1 + 2 * (uint32_t)*at + constants), 4)) {
            return NULL;
        }
        for (int32_t left = *at++; left > 0; left--, at += 2) {
            if (*at % 4 != 0 || !mote_within(*at, 0, 12 * p->groups - 4)) {
                return NULL;
            }
        }
        if (!mote_within(at[constants < MOTE_SWAR_plain32 ? 2 : 4], 0, 31)) {
            return NULL;
        }
        at += constants;
    }
    return at;
}

MOTE_NOINLINE int mote_fc_swar_fits(const mote_fully_connected_swar_t *p, const mote_room_t *room, uint32_t constants) {
    const int32_t *at = p->stream;
    int32_t slow = 0;
    if (!mote_counts(p->depth | p->groups | p->channels | p->slow) || p->groups == 0 || p->groups % 2 != 0 ||
        p->depth > 4 * p->groups || (const void *)p->stream == (const void *)room ||
        room->scratch < mote_much_times((uint32_t)p->groups, 12) ||
        (p->slow > 0 && !mote_holds(room, p->again, (uint32_t)p->slow * sizeof *p->again, 4)) ||
        (const void *)p->again == (const void *)room) {
        return 0;
    }
    for (int32_t c = 0; at != NULL && c < p->channels; c += 4) {
        at = mote_fc_swar_four_fit(p, room, at, c, constants, &slow);
    }
    return at != NULL && slow == p->slow && mote_vectors_fit(room, p->depth, p->channels, 1);
}

#endif
