/* mote_mean_s8.h: int8 mean over any axes.
 *
 * The compiler turns the axes into at most three loops over what is kept, three over what is averaged, and
 * `inner` kept elements that lie side by side (the channels of a global average pool).
 */
#ifndef MOTE_MEAN_S8_H
#define MOTE_MEAN_S8_H

#include "mote_loop.h"
#include "mote_sum_s8.h"

typedef struct {
    int32_t inner;
    const mote_loop_t *kept, *averaged; /* three of each */
    mote_channel_t channel;             /* how a sum becomes an output */
    mote_output_t output;
} mote_mean_s8_t;

static inline int8_t mote_mean_s8_finish(const mote_mean_s8_t *p, int32_t sum) {
    return mote_clamp(mote_rescale(sum, p->channel.mult, p->channel.shift) + p->output.zero, p->output.lo, p->output.hi);
}

/* The means of `inner` neighbours. */
static inline void mote_mean_s8_line(const mote_mean_s8_t *p, const int8_t *in, int8_t *out) {
    const mote_loop_t *a = p->averaged;
    int32_t c = 0;
    for (; c + 4 <= p->inner; c += 4) {
        int32_t sum[4];
        sum[0] = sum[1] = sum[2] = sum[3] = p->channel.bias;
        for (int32_t i = 0; i < a[0].size; i++) {
            for (int32_t j = 0; j < a[1].size; j++) {
                mote_sum_4(in + c + i * a[0].step + j * a[1].step, a[2].step, a[2].size, sum);
            }
        }
        for (int32_t i = 0; i < 4; i++) {
            out[c + i] = mote_mean_s8_finish(p, sum[i]);
        }
    }
    for (; c < p->inner; c++) {
        int32_t sum = p->channel.bias;
        for (int32_t i = 0; i < a[0].size; i++) {
            for (int32_t j = 0; j < a[1].size; j++) {
                sum = mote_sum_1(in + c + i * a[0].step + j * a[1].step, a[2].step, a[2].size, sum);
            }
        }
        out[c] = mote_mean_s8_finish(p, sum);
    }
}

static inline void mote_mean_s8(const mote_mean_s8_t *p, const int8_t *in, int8_t *out) {
    const mote_loop_t *k = p->kept;
    for (int32_t i = 0; i < k[0].size; i++) {
        for (int32_t j = 0; j < k[1].size; j++) {
            for (int32_t l = 0; l < k[2].size; l++, out += p->inner) {
                mote_mean_s8_line(p, in + i * k[0].step + j * k[1].step + l * k[2].step, out);
            }
        }
    }
}

#endif
