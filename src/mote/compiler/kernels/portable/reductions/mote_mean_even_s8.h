/* mote_mean_even_s8.h: int8 mean over any axes, with sums that are rounded as mote_even.h says. */
#ifndef MOTE_MEAN_EVEN_S8_H
#define MOTE_MEAN_EVEN_S8_H

#include "mote_even.h"
#include "mote_loop.h"
#include "mote_sum_s8.h"

typedef struct {
    int32_t inner;
    const mote_loop_t *kept, *averaged; /* three of each */
    mote_channel_t channel;             /* how a sum becomes an output */
    mote_output_t output;
} mote_mean_even_s8_t;

/* The means of `inner` neighbours. */
MOTE_NOINLINE void mote_mean_even_line(const mote_mean_even_s8_t *p, const int8_t *in, int8_t *out) {
    const mote_loop_t *a = p->averaged;
    const mote_channel_t q = p->channel;
    const mote_output_t o = p->output;
    for (int32_t c = 0; c < p->inner; c += 4) {
        const int32_t count = mote_min(p->inner - c, 4);
        int32_t sum[4] = {q.bias, q.bias, q.bias, q.bias};
        for (int32_t i = 0; i < a[0].size; i++) {
            for (int32_t j = 0; j < a[1].size; j++) {
                const int8_t *from = in + c + i * a[0].step + j * a[1].step;
                if (count == 4) {
                    mote_sum_4(from, a[2].step, a[2].size, sum);
                } else {
                    for (int32_t k = 0; k < count; k++) {
                        sum[k] = mote_sum_1(from + k, a[2].step, a[2].size, sum[k]);
                    }
                }
            }
        }
        for (int32_t k = 0; k < count; k++) {
            out[c + k] = mote_requantize_even(sum[k], q.mult, q.shift, o);
        }
    }
}

static inline void mote_mean_even_s8(const mote_mean_even_s8_t *p, const int8_t *in, int8_t *out) {
    const mote_loop_t *k = p->kept;
    for (int32_t i = 0; i < k[0].size; i++) {
        for (int32_t j = 0; j < k[1].size; j++) {
            const int8_t *from = in + i * k[0].step + j * k[1].step;
            for (int32_t l = 0; l < k[2].size; l++, out += p->inner, from += k[2].step) {
                mote_mean_even_line(p, from, out);
            }
        }
    }
}

#endif
