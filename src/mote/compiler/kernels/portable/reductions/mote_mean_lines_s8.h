/* mote_mean_lines_s8.h: int8 means of vectors whose elements lie side by side. */
#ifndef MOTE_MEAN_LINES_S8_H
#define MOTE_MEAN_LINES_S8_H

#include "mote_line_s8.h"
#include "mote_mean_s8.h"

#define MOTE_LONG_LINE 16 /* elements from which on a line is added up by words */

typedef struct {
    int32_t size;           /* of a vector */
    mote_channel_t channel; /* how a sum becomes an output */
    mote_output_t output;   /* all of int8 */
} mote_mean_lines_s8_t;

MOTE_NOINLINE void mote_mean_lines_s8(const mote_mean_lines_s8_t *p, const int8_t *in, int8_t *out, int32_t lines) {
    const int32_t size = p->size, mult = p->channel.mult, shift = p->channel.shift, zero = p->output.zero;
    for (; lines > 0 && size >= MOTE_LONG_LINE; lines--, in += size) {
        const int32_t sum = MOTE_PLUS(p->channel.bias, mote_line_sum(in, size));
        *out++ = mote_mean_s8_finish(sum, mult, shift, zero);
    }
    for (; lines > 0; lines--, in += size) {
        int32_t sum[4] = {p->channel.bias, 0, 0, 0};
        mote_sum_4(in, 4, size / 4, sum);
        const int32_t all = MOTE_PLUS(MOTE_PLUS(sum[0], sum[1]), MOTE_PLUS(sum[2], sum[3]));
        *out++ = mote_mean_s8_finish(mote_sum_1(in + size / 4 * 4, 1, size % 4, all), mult, shift, zero);
    }
}

#endif
