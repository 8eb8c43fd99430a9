/* mote_depthwise_4_s8_dsp.h: mote_depthwise_4_s8.h, which includes it, with DSP instructions. */
#ifndef MOTE_DEPTHWISE_4_S8_DSP_H
#define MOTE_DEPTHWISE_4_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline void mote_depthwise_4(const mote_depthwise_view_t *v, int32_t channel, const int8_t *weights,
                                    int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    const int32_t cols = v->cols, step = v->step, zero = v->zero;
    const uint32_t minus_zero = (uint32_t)(-zero & 0xffff) * 0x10001u;
    for (int32_t k = 0; k < v->taps; k++, weights += v->pitch) {
        const int8_t *x = v->rows[k], *w = weights;
        if (x == NULL) {
            continue;
        }
        x += v->first + channel;
        for (int32_t t = cols; t > 0; t--, x += step, w += 4) {
            const uint32_t xs = mote_load4(x), ws = mote_load4(w);
            uint32_t xe, xo, we, wo;
            __asm__("sxtab16 %0, %1, %2" : "=r"(xe) : "r"(minus_zero), "r"(xs));
            __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(xo) : "r"(minus_zero), "r"(xs));
            __asm__("sxtb16 %0, %1" : "=r"(we) : "r"(ws));
            __asm__("sxtb16 %0, %1, ror #8" : "=r"(wo) : "r"(ws));
            __asm__("smlabb %0, %1, %2, %0" : "+r"(a) : "r"(xe), "r"(we));
            __asm__("smlabb %0, %1, %2, %0" : "+r"(b) : "r"(xo), "r"(wo));
            __asm__("smlatt %0, %1, %2, %0" : "+r"(c) : "r"(xe), "r"(we));
            __asm__("smlatt %0, %1, %2, %0" : "+r"(d) : "r"(xo), "r"(wo));
        }
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#define mote_depthwise_4 mote_depthwise_4

static inline void mote_depthwise_offset_4(const mote_depthwise_view_t *v, int32_t channel, const int8_t *weights,
                                         int32_t offset, int32_t *sum) {
    int32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    const int32_t step = v->step, zero = v->zero;
    const uint32_t minus_zero = (uint32_t)(-zero & 0xffff) * 0x10001u;
    const uint32_t plus_offset = (uint32_t)(offset & 0xffff) * 0x10001u;
    for (int32_t k = 0; k < v->taps; k++, weights += v->pitch) {
        const int8_t *x = v->rows[k], *w = weights;
        if (x == NULL) {
            continue;
        }
        x += v->first + channel;
        for (int32_t t = v->cols; t > 0; t--, x += step, w += 4) {
            const uint32_t xs = mote_load4(x), ws = mote_load4(w);
            uint32_t xe, xo, we, wo;
            __asm__("sxtab16 %0, %1, %2" : "=r"(xe) : "r"(minus_zero), "r"(xs));
            __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(xo) : "r"(minus_zero), "r"(xs));
            __asm__("sxtab16 %0, %1, %2" : "=r"(we) : "r"(plus_offset), "r"(ws));
            __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(wo) : "r"(plus_offset), "r"(ws));
            __asm__("smlabb %0, %1, %2, %0" : "+r"(a) : "r"(xe), "r"(we));
            __asm__("smlabb %0, %1, %2, %0" : "+r"(b) : "r"(xo), "r"(wo));
            __asm__("smlatt %0, %1, %2, %0" : "+r"(c) : "r"(xe), "r"(we));
            __asm__("smlatt %0, %1, %2, %0" : "+r"(d) : "r"(xo), "r"(wo));
        }
    }
    sum[0] = a, sum[1] = b, sum[2] = c, sum[3] = d;
}
#define mote_depthwise_offset_4 mote_depthwise_offset_4
#endif

#endif
