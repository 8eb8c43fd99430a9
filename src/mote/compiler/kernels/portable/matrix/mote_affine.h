/* mote_affine.h: sums times a scale plus an offset, rounded once, halves to even, exactly: products have 64 bits. */
#ifndef MOTE_AFFINE_H
#define MOTE_AFFINE_H

#include "mote_layer.h"

/* One output channel: the sum begins with `bias`, and becomes (sum * mult + add) / 2^shift, 0 <= mult, 1 <= shift <= 62. */
typedef struct {
    int32_t bias, mult, shift, add;
} mote_affine_t;

typedef struct {
    const mote_affine_t *channel;
    int32_t origin, lo, hi; /* what is added to rounded results, and their range then */
} mote_finish_affine_t;

static inline int32_t mote_rescale_affine(int32_t sum, const mote_affine_t *q, const mote_finish_affine_t *f) {
    const int64_t product = (int64_t)sum * q->mult + q->add;
    const int64_t whole = product >> q->shift;
    const uint64_t rest = (uint64_t)product & (((uint64_t)1 << q->shift) - 1), half = (uint64_t)1 << (q->shift - 1);
    const int64_t y = whole + (rest > half || (rest == half && (whole & 1) != 0)) + f->origin;
    return y < f->lo ? f->lo : y > f->hi ? f->hi : (int32_t)y;
}

#define MOTE_START_AFFINE(f, c) (f)->channel[c].bias
#define MOTE_FINISH_AFFINE8(f, c, sum) (int8_t)mote_rescale_affine(sum, &(f)->channel[c], f)
#define MOTE_FINISH_AFFINE16(f, c, sum) (int16_t)mote_rescale_affine(sum, &(f)->channel[c], f)

#endif
