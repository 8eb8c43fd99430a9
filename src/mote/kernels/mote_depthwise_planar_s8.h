/* mote_depthwise_planar_s8.h: int8 depthwise convolution, three columns wide, over planar rows.
 *
 * In a planar row a channel's pixels lie side by side, so one load fetches four of them, a window's neighbours share
 * loads and unpacking, and a channel's constants are read once for the whole row. Weights are [channel][row][4], the
 * fourth zero. The output may have any layout: `pixel` and `channel_step` say how far apart its elements are.
 */
#ifndef MOTE_DEPTHWISE_PLANAR_S8_H
#define MOTE_DEPTHWISE_PLANAR_S8_H

#include "mote_common.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols; /* 3 taps, step 1 or 2, no spread */
    int32_t channels, in_zero;
    int32_t pixel, channel_step;
    mote_output_t output;
    const int8_t *weights;
    const mote_channel_t *channel;
} mote_depthwise_planar_s8_t;

/* One row's share of four neighbouring outputs whose windows start at x. */
static inline void mote_planar_4(const int8_t *x, int32_t step, const int8_t *w, int32_t zero, int32_t *sum) {
#if MOTE_DSP
    const uint32_t minus_zero = (uint32_t)(-zero & 0xffff) * 0x10001u;
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    uint32_t word = mote_load4(w), w02, w1, e0, o0, e1, o1;
    __asm__("sxtb16 %0, %1" : "=r"(w02) : "r"(word));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(w1) : "r"(word));
    word = mote_load4(x);
    __asm__("sxtab16 %0, %1, %2" : "=r"(e0) : "r"(minus_zero), "r"(word));
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(o0) : "r"(minus_zero), "r"(word));
    if (step == 1) { /* windows 0-2, 1-3, 2-4, 3-5 */
        word = mote_load2(x + 4);
        __asm__("sxtab16 %0, %1, %2" : "=r"(e1) : "r"(minus_zero), "r"(word));
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(o1) : "r"(minus_zero), "r"(word));
        __asm__("smlad %0, %1, %2, %0" : "+r"(a) : "r"(e0), "r"(w02));
        __asm__("smlabb %0, %1, %2, %0" : "+r"(a) : "r"(o0), "r"(w1));
        __asm__("smlad %0, %1, %2, %0" : "+r"(b) : "r"(o0), "r"(w02));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(b) : "r"(e0), "r"(w1));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(c) : "r"(e0), "r"(w02));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(c) : "r"(o0), "r"(w1));
        __asm__("smlabt %0, %1, %2, %0" : "+r"(c) : "r"(e1), "r"(w02));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(d) : "r"(o0), "r"(w02));
        __asm__("smlabb %0, %1, %2, %0" : "+r"(d) : "r"(e1), "r"(w1));
        __asm__("smlabt %0, %1, %2, %0" : "+r"(d) : "r"(o1), "r"(w02));
    } else { /* windows 0-2, 2-4, 4-6, 6-8 */
        int32_t last = x[8] - zero;
        word = mote_load4(x + 4);
        __asm__("sxtab16 %0, %1, %2" : "=r"(e1) : "r"(minus_zero), "r"(word));
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(o1) : "r"(minus_zero), "r"(word));
        __asm__("smlad %0, %1, %2, %0" : "+r"(a) : "r"(e0), "r"(w02));
        __asm__("smlabb %0, %1, %2, %0" : "+r"(a) : "r"(o0), "r"(w1));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(b) : "r"(e0), "r"(w02));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(b) : "r"(o0), "r"(w1));
        __asm__("smlabt %0, %1, %2, %0" : "+r"(b) : "r"(e1), "r"(w02));
        __asm__("smlad %0, %1, %2, %0" : "+r"(c) : "r"(e1), "r"(w02));
        __asm__("smlabb %0, %1, %2, %0" : "+r"(c) : "r"(o1), "r"(w1));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(d) : "r"(e1), "r"(w02));
        __asm__("smlatb %0, %1, %2, %0" : "+r"(d) : "r"(o1), "r"(w1));
        __asm__("smlabt %0, %1, %2, %0" : "+r"(d) : "r"(last), "r"(w02));
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
#else
    const int32_t w0 = w[0], w1 = w[1], w2 = w[2], fold = -zero * (w0 + w1 + w2);
    for (int32_t i = 0; i < 4; i++, x += step) {
        sum[i] += fold + x[0] * w0 + x[1] * w1 + x[2] * w2;
    }
#endif
}

/* One output at the image's edge: the window's columns lo..hi-1 are inside. */
static inline int32_t mote_planar_1(const int8_t *x, const int8_t *w, int32_t lo, int32_t hi, int32_t zero) {
    int32_t sum = 0;
    for (int32_t t = lo; t < hi; t++) {
        sum += (x[t] - zero) * w[t];
    }
    return sum;
}

static inline void mote_depthwise_planar_s8_row(const mote_depthwise_planar_s8_t *p, const int8_t *const *rows,
                                                int8_t *out) {
    const mote_span_t s = p->cols;
    const mote_output_t o = p->output;
    const int32_t taps = p->rows.taps, zero = p->in_zero, pixel = p->pixel;
    const int32_t inner = (s.pad + s.step - 1) / s.step;                 /* outputs whose window is wholly inside: */
    const int32_t outer = (s.in_size - 3 + s.pad) / s.step + 1;          /* inner <= x < outer */
    const int8_t *w = p->weights;
    const mote_channel_t *q = p->channel;
    for (int32_t c = 0; c < p->channels; c++, q++, w += 4 * taps, out += p->channel_step) {
        const int32_t bias = q->bias, mult = q->mult, shift = q->shift;
        const int32_t plane = c * s.in_size - s.pad;
        int32_t x = 0;
        while (x < s.out_size) {
            if (x >= inner && x < outer && outer - inner >= 4) {
                int32_t sum[4] = {bias, bias, bias, bias};
                int8_t *to;
                x = mote_min(x, outer - 4); /* the last block may repeat outputs of the one before */
                for (int32_t k = 0; k < taps; k++) {
                    if (rows[k] != NULL) {
                        mote_planar_4(rows[k] + plane + x * s.step, s.step, w + 4 * k, zero, sum);
                    }
                }
                to = out + x * pixel;
                to[0] = mote_requantize(sum[0], mult, shift, o);
                to[pixel] = mote_requantize(sum[1], mult, shift, o);
                to[2 * pixel] = mote_requantize(sum[2], mult, shift, o);
                to[3 * pixel] = mote_requantize(sum[3], mult, shift, o);
                x += 4;
            } else {
                const int32_t first = x * s.step - s.pad;
                int32_t sum = bias;
                for (int32_t k = 0; k < taps; k++) {
                    if (rows[k] != NULL) {
                        sum += mote_planar_1(rows[k] + plane + x * s.step, w + 4 * k, mote_span_lo(&s, first),
                                             mote_span_hi(&s, first), zero);
                    }
                }
                out[x * pixel] = mote_requantize(sum, mult, shift, o);
                x++;
            }
        }
    }
}

static inline void mote_depthwise_planar_s8(const mote_depthwise_planar_s8_t *p, const int8_t *in, int8_t *out,
                                            int32_t lo, int32_t hi) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_depthwise_planar_s8_row(p, rows, out + y * p->rows.out_stride);
    }
}

#endif
