/* mote_depthwise_s8.h: int8 depthwise convolution, any window, four channels at a time.
 *
 * Weights are packed by the compiler as [block of 4 channels][tap][4]; the last block is padded with zeros.
 * Padding taps are skipped, so the input's zero point is subtracted from every input (free with SXTAB16).
 * With a depth multiplier above one the input channel of output channel c is c / multiplier.
 */
#ifndef MOTE_DEPTHWISE_S8_H
#define MOTE_DEPTHWISE_S8_H

#include "mote_common.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels, multiplier;
    int32_t in_zero;
    mote_output_t output;
    const int8_t *weights;
    const mote_channel_t *channel;
} mote_depthwise_s8_t;

/* Add `taps` taps of four neighbouring channels; x steps by `step` elements, weights by four. */
static inline void mote_depthwise_4(const int8_t *x, int32_t step, const int8_t *w, int32_t taps, int32_t zero,
                                    int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
#if MOTE_DSP
    const uint32_t minus_zero = (uint32_t)(-zero & 0xffff) * 0x10001u;
    for (; taps > 0; taps--, x += step, w += 4) {
        uint32_t xs, ws, xe, xo, we, wo;
        memcpy(&xs, x, 4);
        memcpy(&ws, w, 4);
        __asm__("sxtab16 %0, %1, %2" : "=r"(xe) : "r"(minus_zero), "r"(xs));
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(xo) : "r"(minus_zero), "r"(xs));
        __asm__("sxtb16 %0, %1" : "=r"(we) : "r"(ws));
        __asm__("sxtb16 %0, %1, ror #8" : "=r"(wo) : "r"(ws));
        __asm__("smlabb %0, %1, %2, %0" : "+r"(a) : "r"(xe), "r"(we));
        __asm__("smlabb %0, %1, %2, %0" : "+r"(b) : "r"(xo), "r"(wo));
        __asm__("smlatt %0, %1, %2, %0" : "+r"(c) : "r"(xe), "r"(we));
        __asm__("smlatt %0, %1, %2, %0" : "+r"(d) : "r"(xo), "r"(wo));
    }
#else
    for (; taps > 0; taps--, x += step, w += 4) {
        a += (x[0] - zero) * w[0];
        b += (x[1] - zero) * w[1];
        c += (x[2] - zero) * w[2];
        d += (x[3] - zero) * w[3];
    }
#endif
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}

static inline void mote_depthwise_s8_row(const mote_depthwise_s8_t *p, const int8_t *const *rows, int8_t *out) {
    const mote_span_t *s = &p->cols;
    const int32_t m = p->multiplier;
    const int32_t in_channels = p->rows.in_stride / s->in_size;
    const int32_t taps = p->rows.taps * s->taps, step = in_channels * s->spread;
    for (int32_t x = 0; x < s->out_size; x++) {
        const int32_t first = x * s->step - s->pad;
        const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
        const int8_t *w = p->weights + lo * 4;
        for (int32_t c = 0; c < p->channels; c += 4, w += 4 * taps) {
            const mote_channel_t *q = p->channel + c;
            const int32_t n = mote_min(4, p->channels - c);
            int32_t sum[4] = {0, 0, 0, 0};
            for (int32_t i = 0; i < n; i++) {
                sum[i] = q[i].bias;
            }
            for (int32_t k = 0; k < p->rows.taps; k++) {
                const int8_t *in;
                if (rows[k] == NULL) {
                    continue;
                }
                in = rows[k] + (first + lo * s->spread) * in_channels;
                if (m == 1 && n == 4) {
                    mote_depthwise_4(in + c, step, w + k * s->taps * 4, hi - lo, p->in_zero, sum);
                } else {
                    for (int32_t t = 0; t < hi - lo; t++) {
                        for (int32_t i = 0; i < n; i++) {
                            sum[i] += (in[t * step + (c + i) / m] - p->in_zero) * w[(k * s->taps + t) * 4 + i];
                        }
                    }
                }
            }
            for (int32_t i = 0; i < n; i++) {
                *out++ = mote_requantize(sum[i], q + i, &p->output);
            }
        }
    }
}

static inline void mote_depthwise_s8(const mote_depthwise_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                     int32_t hi) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_depthwise_s8_row(p, rows, out + y * p->rows.out_stride);
    }
}

#endif
