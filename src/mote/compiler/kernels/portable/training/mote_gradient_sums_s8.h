/* mote_gradient_sums_s8.h: sums of int8 gradients over all positions, whole or one input row at a time. */
#ifndef MOTE_GRADIENT_SUMS_S8_H
#define MOTE_GRADIENT_SUMS_S8_H

#include "mote_running_sums.h"
#include "mote_sum_s8.h"

typedef struct {
    int32_t pixels, size; /* of all rows, or of one: what is added up, `size` sums at a time */
} mote_gradient_sums_t;

typedef mote_gradient_sums_t mote_gradient_sums_s8_t, mote_gradient_sums_add_s8_t;

static inline void mote_gradient_sums_s8(const mote_gradient_sums_t *p, const int8_t *gradient, int32_t *out) {
    memset(out, 0, (size_t)p->size * sizeof *out);
    mote_sum_row(gradient, p->pixels, p->size, out);
}

static inline void mote_gradient_sums_add_s8(const mote_gradient_sums_t *p, const int8_t *row, int32_t tap, int32_t part,
                                             int32_t *sums, int32_t *out) {
    (void)tap;
    if (part & MOTE_FIRST) {
        memset(sums, 0, (size_t)p->size * sizeof *sums);
    }
    mote_sum_row(row, p->pixels, p->size, sums);
    if ((part & MOTE_LAST) && out != sums) {
        memcpy(out, sums, (size_t)p->size * sizeof *out);
    }
}

#endif
