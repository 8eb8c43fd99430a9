/* mote_vectors_f32_fits.h: whether parameters of mote_vectors_f32.h fit. */
#ifndef MOTE_VECTORS_F32_FITS_H
#define MOTE_VECTORS_F32_FITS_H

#include "mote_common_fits.h"
#include "mote_vectors_f32.h"

#define MOTE_MOST_CLASSES 4096 /* whose pairs can be counted */
#define MOTE_MOST_DEGREE 64

/* The vectors of all classes, or MOTE_MUCH. */
static inline uint32_t mote_all_vectors(const mote_support_f32_t *p) {
    uint32_t sum = 0;
    for (int32_t i = 0; i < p->classes; i++) {
        sum = mote_much_plus(sum, mote_size(p->counts[i]));
    }
    return sum;
}

static inline int mote_support_fits(const mote_support_f32_t *p, const mote_room_t *room) {
    uint32_t count;
    int32_t pairs;
    if (!mote_within(p->classes, 2, MOTE_MOST_CLASSES) || !mote_within(p->degree, 0, MOTE_MOST_DEGREE) ||
        !mote_array_fits(room, p->counts, p->classes, 1, 1, 1, 4)) {
        return 0;
    }
    count = mote_all_vectors(p);
    pairs = p->classes * (p->classes - 1) / 2;
    return count < MOTE_LARGEST && mote_vectors_fit(room, p->depth, pairs, 4) &&
           mote_array_fits(room, p->vectors, (int32_t)count, p->depth, 1, 1, 4) &&
           mote_array_fits(room, p->coefficients, (int32_t)count, p->classes - 1, 1, 1, 4) &&
           mote_array_fits(room, p->intercepts, pairs, 1, 1, 1, 4);
}

#endif
