/* mote_topk_fits.h: whether parameters of mote_topk.h fit. */
#ifndef MOTE_TOPK_FITS_H
#define MOTE_TOPK_FITS_H

#include "mote_elements_fits.h"
#include "mote_topk.h"

static inline int mote_topk_fits(const mote_topk_t *p, const mote_room_t *room, uint32_t in, uint32_t out) {
    return mote_of_tensors(room) && mote_takes(room, 0, mote_count(room->hi, p->depth, (int32_t)in, 1), in) &&
           mote_gives(room, mote_count(room->hi, p->k, (int32_t)out, 1), out);
}

/* The largest vector whose places fit a type, where the output has places: elements are looked up by them. */
#define MOTE_TOPK_VALUE_MOST(O) INT32_MAX
#define MOTE_TOPK_AT_MOST(O) (sizeof(O) == 2 ? INT16_MAX : INT32_MAX)

#define MOTE_TOPK_FITS(name, T, O, LARGER, KEY, ENTRY) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_topk_fits(p, room, sizeof(T), sizeof(O)) && p->depth - 1 <= KEY##_MOST(O); \
    }

#endif
