/* mote_fully_connected8_s8.h: int8 fully connected layer on one vector, eight outputs at a time, for DSP cores.
 *
 * As in mote_gemm4_s8.h a 16-bit weight holds two outputs, w0 + 256 * w1, and gives d0 + 256 * d1 as it is and d0 from
 * its low byte. Weights: for each eight outputs and four inputs, inputs 0 and 2 of the four pairs of outputs, then
 * inputs 1 and 3. The depth is a multiple of four.
 */
#ifndef MOTE_FULLY_CONNECTED8_S8_H
#define MOTE_FULLY_CONNECTED8_S8_H

#include "mote_fully_connected_s8.h"

typedef struct {
    int32_t depth, channels, round_once;
    mote_output_t output;
    const int16_t *weights;
    const mote_channel_t *channel;
} mote_fully_connected8_s8_t;

/* sum[0..3] += d0 and sum[4..7] += d0 + 256 * d1 of four pairs of outputs; `end` is where x ends. */
#if MOTE_DSP
#define MOTE_PAIR(d0, both, x) \
    "ldr r10, [r9], #4\n\t" \
    "sxtb16 r11, r10\n\t" \
    "smlad " both ", " x ", r10, " both "\n\t" \
    "smlad " d0 ", " x ", r11, " d0 "\n\t"

#define MOTE_PAIRS(x) \
    MOTE_PAIR("r0", "r4", x) MOTE_PAIR("r1", "r5", x) MOTE_PAIR("r2", "r6", x) MOTE_PAIR("r3", "r7", x)

__attribute__((naked, noinline, unused)) static void mote_dot_1x8(const int8_t *x __attribute__((unused)),
                                                                  const int16_t *w __attribute__((unused)),
                                                                  const int8_t *end __attribute__((unused)),
                                                                  int32_t *sum __attribute__((unused))) {
    __asm__ volatile(MOTE_EIGHT_SUMS("ldr r12, [r8], #4\n\t"
                                     "sxtb16 lr, r12, ror #8\n\t"
                                     "sxtb16 r12, r12\n\t" MOTE_PAIRS("r12") MOTE_PAIRS("lr")));
}
#else
static inline void mote_dot_1x8(const int8_t *x, const int16_t *w, const int8_t *end, int32_t *sum) {
    for (; x < end; x += 4) {
        for (int32_t i = 0; i < 2; i++) {
            for (int32_t p = 0; p < 4; p++, w += 2) {
                sum[p] += x[i] * (int8_t)(w[0] & 0xff) + x[i + 2] * (int8_t)(w[1] & 0xff);
                sum[p + 4] += x[i] * w[0] + x[i + 2] * w[1];
            }
        }
    }
}
#endif

static inline void mote_fully_connected8_s8(const mote_fully_connected8_s8_t *p, const int8_t *in, int8_t *out,
                                            int32_t vectors) {
    const int32_t depth = p->depth, channels = p->channels, once = p->round_once;
    const mote_output_t o = p->output;
    for (; vectors > 0; vectors--, in += depth) {
        const int16_t *w = p->weights;
        const mote_channel_t *q = p->channel;
        for (int32_t left = channels; left > 0; left -= 8, w += 4 * depth, q += 8) {
            const int32_t pairs = mote_min(left, 8) / 2, odd = left < 8 && (left & 1);
            int32_t sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
            for (int32_t i = 0; i < pairs; i++) {
                sum[i] = q[2 * i].bias;
                sum[i + 4] = q[2 * i].bias + 256 * q[2 * i + 1].bias;
            }
            if (odd) {
                sum[pairs] = q[2 * pairs].bias;
            }
            mote_dot_1x8(in, w, in + depth, sum);
            for (int32_t i = 0; i < pairs; i++) {
                *out++ = mote_finish_fc(sum[i], q + 2 * i, once, o);
                *out++ = mote_finish_fc((sum[i + 4] - sum[i]) >> 8, q + 2 * i + 1, once, o);
            }
            if (odd) {
                *out++ = mote_finish_fc(sum[pairs], q + 2 * pairs, once, o);
            }
        }
    }
}

#endif
