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
    mote_output_t output;               /* all of int8 */
} mote_mean_s8_t;

static inline int8_t mote_mean_s8_finish(int32_t sum, int32_t mult, int32_t shift, int32_t zero) {
    const int32_t y = MOTE_PLUS(mote_rescale(sum, mult, shift), zero);
    return mote_saturate_s8(y);
}

/* The means of `inner` neighbours. */
MOTE_NOINLINE void mote_mean_s8_line(const mote_mean_s8_t *p, const int8_t *in, int8_t *out) {
    const mote_loop_t *a = p->averaged;
    const int32_t mult = p->channel.mult, shift = p->channel.shift, zero = p->output.zero;
    int32_t c = 0;
#ifdef mote_sum_16
    for (; c + 16 <= p->inner; c += 16) {
        int32_t sum[16];
        for (int32_t i = 0; i < 16; i++) {
            sum[i] = p->channel.bias;
        }
        for (int32_t i = 0; i < a[0].size; i++) {
            for (int32_t j = 0; j < a[1].size; j++) {
                mote_sum_16(in + c + i * a[0].step + j * a[1].step, a[2].step, a[2].size, sum);
            }
        }
        for (int32_t i = 0; i < 16; i++) {
            out[c + i] = mote_mean_s8_finish(sum[i], mult, shift, zero);
        }
    }
#endif
    for (; c + 4 <= p->inner; c += 4) {
        int32_t sum[4];
        sum[0] = sum[1] = sum[2] = sum[3] = p->channel.bias;
        for (int32_t i = 0; i < a[0].size; i++) {
            for (int32_t j = 0; j < a[1].size; j++) {
                mote_sum_4(in + c + i * a[0].step + j * a[1].step, a[2].step, a[2].size, sum);
            }
        }
        for (int32_t i = 0; i < 4; i++) {
            out[c + i] = mote_mean_s8_finish(sum[i], mult, shift, zero);
        }
    }
    for (; c < p->inner; c++) {
        int32_t sum = p->channel.bias;
        for (int32_t i = 0; i < a[0].size; i++) {
            for (int32_t j = 0; j < a[1].size; j++) {
                sum = mote_sum_1(in + c + i * a[0].step + j * a[1].step, a[2].step, a[2].size, sum);
            }
        }
        out[c] = mote_mean_s8_finish(sum, mult, shift, zero);
    }
}

/* The means of single elements, `kept.step` apart, over one loop. */
MOTE_NOINLINE void mote_mean_s8_each(const mote_mean_s8_t *p, const int8_t *in, mote_loop_t kept, int8_t *out) {
    const int32_t n = p->averaged[2].size, step = p->averaged[2].step;
    const int32_t bias = p->channel.bias, mult = p->channel.mult, shift = p->channel.shift, zero = p->output.zero;
    for (; kept.size > 0; kept.size--, in += kept.step) {
        *out++ = mote_mean_s8_finish(mote_sum_1(in, step, n, bias), mult, shift, zero);
    }
}

static inline void mote_mean_s8(const mote_mean_s8_t *p, const int8_t *in, int8_t *out) {
    const mote_loop_t *k = p->kept;
    const int32_t each = p->inner == 1 && p->averaged[0].size == 1 && p->averaged[1].size == 1;
    for (int32_t i = 0; i < k[0].size; i++) {
        for (int32_t j = 0; j < k[1].size; j++) {
            const int8_t *from = in + i * k[0].step + j * k[1].step;
            if (each) {
                mote_mean_s8_each(p, from, k[2], out);
                out += k[2].size;
                continue;
            }
            for (int32_t l = 0; l < k[2].size; l++, out += p->inner, from += k[2].step) {
                mote_mean_s8_line(p, from, out);
            }
        }
    }
}

#endif
