/* mote_running_sums.h: what the kernels share that are given one input row at a time.
 *
 * Their output is a single row that is made from many. Each call adds one of these to sums that the caller keeps;
 * `tap` says which row of the window it is, `part` whether it is the first or the last one that comes. Any order will
 * do. The output may begin where the sums begin: finished from front to back, an output never lies over a sum that is
 * still to be read. */
#ifndef MOTE_RUNNING_SUMS_H
#define MOTE_RUNNING_SUMS_H

#include "mote_common.h"

#define MOTE_FIRST 1 /* the sums begin with this call */
#define MOTE_LAST 2  /* after this call they become the output */

/* Each pixel's sums begin with the biases. */
static inline void mote_begin_sums(const mote_channel_t *q, int32_t channels, int32_t pixels, int32_t *sums) {
    for (; pixels > 0; pixels--) {
        for (int32_t c = 0; c < channels; c++) {
            *sums++ = q[c].bias;
        }
    }
}

static inline void mote_finish_sums(const mote_channel_t *q, int32_t channels, int32_t pixels, mote_output_t o,
                                    const int32_t *sums, int8_t *out) {
    for (; pixels > 0; pixels--) {
        for (int32_t c = 0; c < channels; c++) {
            *out++ = mote_requantize(*sums++, q[c].mult, q[c].shift, o);
        }
    }
}

#endif
