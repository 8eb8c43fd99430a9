/* mote_reduce_fits.h: whether parameters of mote_reduce.h fit. */
#ifndef MOTE_REDUCE_FITS_H
#define MOTE_REDUCE_FITS_H

#include "mote_loop_fits.h"
#include "mote_reduce.h"

static inline int mote_reduce_over_fits(const mote_reduce_t *p, const mote_room_t *room, uint32_t size) {
    return mote_of_tensors(room) &&
           mote_takes(room, 0, mote_count(room->hi, p->count, p->inner, (int32_t)size), size) &&
           mote_gives(room, mote_count(room->hi, p->inner, (int32_t)size, 1), size);
}

static inline int mote_reduce_add_fits(const mote_reduce_add_t *p, const mote_room_t *room, uint32_t size,
                                       uint32_t sum) {
    const uint32_t all = mote_count(p->kept, p->lines, p->inner, 1);
    return mote_adds(room, INT32_MAX) && p->below >= 1 &&
           mote_takes(room, 0, mote_count(p->lines, p->count, p->inner, (int32_t)size), size) &&
           mote_much_times(all, sum) <= room->sums && mote_gives(room, mote_much_times(all, size), size);
}

/* What becomes of results: whether a struct says how, named after it. */
#define MOTE_REDUCE_FINISHES(params, condition) \
    static inline int params##_finishes(const params *p) { \
        (void)p; \
        return condition; \
    }
MOTE_REDUCE_FINISHES(mote_reduce_plain_t, 1)
MOTE_REDUCE_FINISHES(mote_reduce_plain_loops_t, 1)
MOTE_REDUCE_FINISHES(mote_reduce_plain_add_t, 1)
MOTE_REDUCE_FINISHES(mote_reduce_scaled_t, mote_rescales(p->scale.shift))
MOTE_REDUCE_FINISHES(mote_reduce_scaled_loops_t, mote_rescales(p->scale.shift))
MOTE_REDUCE_FINISHES(mote_reduce_scaled_add_t, mote_rescales(p->scale.shift))
MOTE_REDUCE_FINISHES(mote_reduce_divided_t, p->divisor >= 1)
MOTE_REDUCE_FINISHES(mote_reduce_divided_loops_t, p->divisor >= 1)

#define MOTE_REDUCE_FITS(name, params, T, A, begin, STEP, FINISH) \
    MOTE_UNUSED static inline int mote_##name##_fits(const params *p, const mote_room_t *room) { \
        return mote_reduce_over_fits(&p->over, room, sizeof(T)) && params##_finishes(p); \
    }

#define MOTE_REDUCE_LOOPS_FITS(name, params, T, A, begin, STEP, FINISH) \
    MOTE_UNUSED static inline int mote_##name##_fits(const params *p, const mote_room_t *room) { \
        return mote_loops_fit(room, p->over.kept, p->over.reduced, p->over.inner, sizeof(T)) && params##_finishes(p); \
    }

#define MOTE_REDUCE_ADD_FITS(name, params, T, A, begin, STEP, FINISH) \
    MOTE_UNUSED static inline int mote_##name##_fits(const params *p, const mote_room_t *room) { \
        return mote_reduce_add_fits(&p->over, room, sizeof(T), sizeof(A)) && params##_finishes(p); \
    }

#define MOTE_REDUCE_PROD_FITS(name, T, least, most) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_reduce_prod_t *p, const mote_room_t *room) { \
        return mote_loops_fit(room, p->over.kept, p->over.reduced, p->over.inner, sizeof(T)) && \
               mote_within(p->shift, 1, 63); \
    }

#endif
