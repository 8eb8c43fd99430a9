/* mote_arg_fits.h: whether parameters of mote_arg.h fit. */
#ifndef MOTE_ARG_FITS_H
#define MOTE_ARG_FITS_H

#include "mote_arg.h"
#include "mote_elements_fits.h"

static inline int mote_arg_fits(const mote_arg_t *p, const mote_room_t *room, uint32_t in, uint32_t out) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_count(room->hi, p->count, p->inner, (int32_t)in), in) &&
           mote_gives(room, mote_count(room->hi, p->inner, 1, (int32_t)out), out);
}

static inline int mote_arg_add_fits(const mote_arg_add_t *p, const mote_room_t *room, uint32_t in, uint32_t out) {
    const uint32_t results = mote_count(p->rows, p->lines, p->over.inner, (int32_t)out);
    return mote_adds(room, p->rows) &&
           mote_takes(room, 0, mote_count(p->lines, p->over.count, p->over.inner, (int32_t)in), in) &&
           mote_gives(room, results, out) && results <= room->sums;
}

#define MOTE_ARG_FITS(name, T, O, BETTER) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_arg_fits(p, room, sizeof(T), sizeof(O)); \
    }

#define MOTE_ARG_ADD_FITS(name, T, O, BETTER) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_arg_add_fits(p, room, sizeof(T), sizeof(O)); \
    }

#endif
