/* mote_pairs_fits.h: whether parameters of mote_pairs.h fit. */
#ifndef MOTE_PAIRS_FITS_H
#define MOTE_PAIRS_FITS_H

#include "mote_broadcast_fits.h"
#include "mote_pairs.h"

/* Two tensors of one shape, element by element. */
static inline int mote_both_fit(const mote_room_t *room, uint32_t one, uint32_t other, uint32_t to) {
    return mote_asks_units(room) && mote_takes(room, 0, mote_bytes_of(room->hi, 1, one), one) &&
           mote_takes(room, 1, mote_bytes_of(room->hi, 1, other), other) &&
           mote_gives(room, mote_bytes_of(room->hi, 1, to), to);
}

/* The checks of both kernels that MOTE_PAIRS makes; `params`_fit(p) is for the function's own parameters. */
#define MOTE_PAIRS_FITS(name, params, one, other, to, of) \
    MOTE_UNUSED static inline int mote_##name##_fits(const params *p, const mote_room_t *room) { \
        return params##_fit(p) && mote_both_fit(room, sizeof(one), sizeof(other), sizeof(to)); \
    } \
    MOTE_UNUSED static inline int mote_##name##_rows_fits(const mote_##name##_rows_t *p, const mote_room_t *room) { \
        return params##_fit(&p->each) && \
               mote_broadcast_fits(&p->pairs.walk, room, p->pairs.a_step, sizeof(one), sizeof(other), sizeof(to)); \
    }

/* Parameters that can have any value. */
#define MOTE_ANY_FIT(params) \
    static inline int params##_fit(const params *p) { \
        (void)p; \
        return 1; \
    }
MOTE_ANY_FIT(mote_nothing_t)

static inline int mote_places_t_fit(const mote_places_t *p) { return mote_within(p->most, 0, 31); }

#endif
