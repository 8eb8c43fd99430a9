/* mote_mean_add_s8.h: int8 mean over all rows, and over the columns or not, one input row at a time. */
#ifndef MOTE_MEAN_ADD_S8_H
#define MOTE_MEAN_ADD_S8_H

#include "mote_running_sums.h"
#include "mote_sum_s8.h"

typedef struct {
    int32_t pixels, size;   /* of a row: what is added up, `size` sums at a time */
    mote_channel_t channel; /* how a sum becomes an output */
    mote_output_t output;
} mote_mean_add_s8_t;

static inline void mote_mean_add_s8(const mote_mean_add_s8_t *p, const int8_t *row, int32_t tap, int32_t part,
                                    int32_t *sums, int8_t *out) {
    const mote_output_t o = p->output;
    const int32_t size = p->size, mult = p->channel.mult, shift = p->channel.shift;
    (void)tap;
    if (part & MOTE_FIRST) {
        mote_begin_sums(&p->channel, 1, size, sums);
    }
    mote_sum_row(row, p->pixels, size, sums);
    if (part & MOTE_LAST) {
        for (int32_t i = 0; i < size; i++) {
            out[i] = mote_clamp(MOTE_PLUS(mote_rescale(sums[i], mult, shift), o.zero), o.lo, o.hi);
        }
    }
}

#endif
