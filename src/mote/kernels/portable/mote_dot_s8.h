/* mote_dot_s8.h: int8 dot products for two output channels at a time, the heart of convolutions.
 *
 * Weights are interleaved by the compiler: four of channel 0, four of channel 1, and so on; the depth is
 * padded to a multiple of four with zero weights (the inputs are not read there). On cores with DSP
 * instructions, SXTB16 splits a word of four bytes into (0, 2) and (1, 3), the same for inputs and weights,
 * so that SMLAD multiplies matching pairs: 20 instructions for 16 products.
 */
#ifndef MOTE_DOT_S8_H
#define MOTE_DOT_S8_H

#include "mote_common.h"

#if MOTE_DSP
static inline uint32_t mote_sxtb16(uint32_t x) {
    uint32_t r;
    __asm__("sxtb16 %0, %1" : "=r"(r) : "r"(x));
    return r;
}

static inline uint32_t mote_sxtb16_ror8(uint32_t x) {
    uint32_t r;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(x));
    return r;
}

static inline int32_t mote_smlad(uint32_t a, uint32_t b, int32_t sum) {
    int32_t r;
    __asm__("smlad %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(sum));
    return r;
}
#endif

/* Four products: input i of two pixels and two channels. */
#define MOTE_MAC_2X2(i) \
    do { \
        const int32_t x_ = x0[i], y_ = x1[i], v_ = w[i], u_ = w[(i) + 4]; \
        a0 = MOTE_PLUS(a0, x_ * v_); \
        b0 = MOTE_PLUS(b0, y_ * v_); \
        a1 = MOTE_PLUS(a1, x_ * u_); \
        b1 = MOTE_PLUS(b1, y_ * u_); \
    } while (0)

/* Two pixels, two channels: sum[0..1] for pixel x0, sum[2..3] for pixel x1. */
static inline void mote_dot_2x2(const int8_t *x0, const int8_t *x1, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a0 = sum[0], a1 = sum[1], b0 = sum[2], b1 = sum[3];
    int32_t k = depth;
#if MOTE_DSP
    for (; k >= 4; k -= 4, x0 += 4, x1 += 4, w += 8) {
        uint32_t x = mote_load4(x0), y = mote_load4(x1), v = mote_load4(w);
        uint32_t xe = mote_sxtb16(x), xo = mote_sxtb16_ror8(x);
        uint32_t ye = mote_sxtb16(y), yo = mote_sxtb16_ror8(y);
        uint32_t ve = mote_sxtb16(v), vo = mote_sxtb16_ror8(v);
        a0 = mote_smlad(xo, vo, mote_smlad(xe, ve, a0));
        b0 = mote_smlad(yo, vo, mote_smlad(ye, ve, b0));
        v = mote_load4(w + 4);
        ve = mote_sxtb16(v);
        vo = mote_sxtb16_ror8(v);
        a1 = mote_smlad(xo, vo, mote_smlad(xe, ve, a1));
        b1 = mote_smlad(yo, vo, mote_smlad(ye, ve, b1));
    }
#else
    for (; k >= 4; k -= 4, x0 += 4, x1 += 4, w += 8) {
        MOTE_MAC_2X2(0);
        MOTE_MAC_2X2(1);
        MOTE_MAC_2X2(2);
        MOTE_MAC_2X2(3);
    }
#endif
    for (int32_t i = 0; i < k; i++) {
        MOTE_MAC_2X2(i);
    }
    sum[0] = a0, sum[1] = a1, sum[2] = b0, sum[3] = b1;
}

/* One pixel, two channels. */
static inline void mote_dot_1x2(const int8_t *x0, const int8_t *w, int32_t depth, int32_t *sum) {
    int32_t a0 = sum[0], a1 = sum[1];
    int32_t k = depth;
#if MOTE_DSP
    for (; k >= 4; k -= 4, x0 += 4, w += 8) {
        uint32_t x = mote_load4(x0), v = mote_load4(w), u = mote_load4(w + 4);
        uint32_t xe = mote_sxtb16(x), xo = mote_sxtb16_ror8(x);
        a0 = mote_smlad(xo, mote_sxtb16_ror8(v), mote_smlad(xe, mote_sxtb16(v), a0));
        a1 = mote_smlad(xo, mote_sxtb16_ror8(u), mote_smlad(xe, mote_sxtb16(u), a1));
    }
#else
    for (; k >= 4; k -= 4, x0 += 4, w += 8) {
        for (int32_t i = 0; i < 4; i++) {
            a0 = MOTE_PLUS(a0, x0[i] * w[i]);
            a1 = MOTE_PLUS(a1, x0[i] * w[i + 4]);
        }
    }
#endif
    for (int32_t i = 0; i < k; i++) {
        a0 = MOTE_PLUS(a0, x0[i] * w[i]);
        a1 = MOTE_PLUS(a1, x0[i] * w[i + 4]);
    }
    sum[0] = a0, sum[1] = a1;
}

#if MOTE_DSP
/* Four products of one channel: inputs in r9 and r8, the weights at `w`. */
#define MOTE_MAC_1X1(sum, w) \
    "ldr r10, [" w "], #4\n\t" \
    "sxtb16 r11, r10\n\t" \
    "sxtb16 r10, r10, ror #8\n\t" \
    "smlad " sum ", r9, r11, " sum "\n\t" \
    "smlad " sum ", r8, r10, " sum "\n\t"

/* One pixel, two pairs of channels whose weights are w and v; `end` is where x ends, a multiple of four inputs on. In
 * assembly, because compilers run out of registers: 25 instructions for 16 products. */
__attribute__((naked, noinline, unused)) static void mote_dot_1x2x2_words(
    const int8_t *x __attribute__((unused)), const int8_t *w __attribute__((unused)),
    const int8_t *v __attribute__((unused)), const int8_t *end __attribute__((unused)),
    int32_t *sum __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr r12, [sp, #36]\n\t"
                     "ldm r12, {r4-r7}\n"
                     "1:\n\t"
                     "ldr r8, [r0], #4\n\t"
                     "sxtb16 r9, r8\n\t"
                     "sxtb16 r8, r8, ror #8\n\t" MOTE_MAC_1X1("r4", "r1") MOTE_MAC_1X1("r5", "r1")
                         MOTE_MAC_1X1("r6", "r2") MOTE_MAC_1X1("r7", "r2")
                     "cmp r0, r3\n\t"
                     "bne 1b\n\t"
                     "stm r12, {r4-r7}\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline void mote_dot_1x2x2(const int8_t *x, const int8_t *w, const int8_t *v, int32_t depth, int32_t *sum) {
    const int32_t words = depth & ~3;
    if (words > 0) {
        mote_dot_1x2x2_words(x, w, v, x + words, sum);
    }
    for (int32_t i = words; i < depth; i++) {
        const int32_t at = words + i; /* weights lie in twice four */
        sum[0] = MOTE_PLUS(sum[0], x[i] * w[at]);
        sum[1] = MOTE_PLUS(sum[1], x[i] * w[at + 4]);
        sum[2] = MOTE_PLUS(sum[2], x[i] * v[at]);
        sum[3] = MOTE_PLUS(sum[3], x[i] * v[at + 4]);
    }
}
#endif

/* One or two pixels against every channel: the body of convolution and pointwise rows. */
typedef struct {
    int32_t depth, channels;     /* products in a sum, sums in a pixel */
    int32_t pixel;           /* from one output pixel to the next */
    mote_output_t output;
    const int8_t *weights;
    const mote_channel_t *channel;
} mote_gemm_s8_t;

/* What a loop needs of mote_gemm_s8_t is copied to locals first: the compiler must assume that a store through
 * an int8_t pointer changes the struct, and would read it again after each. */
MOTE_NOINLINE void mote_gemm_2(const mote_gemm_s8_t *g, const int8_t *x0, const int8_t *x1, int8_t *out) {
    const int32_t depth = g->depth, pixel = g->pixel, stride = (depth + 3) / 4 * 8;
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    int32_t c = g->channels;
    for (; c > 1; c -= 2, q += 2, w += stride) {
        int32_t sum[4] = {q[0].bias, q[1].bias, q[0].bias, q[1].bias};
        mote_dot_2x2(x0, x1, w, depth, sum);
        out[0] = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        out[pixel] = mote_requantize(sum[2], q[0].mult, q[0].shift, o);
        out++;
        out[0] = mote_requantize(sum[1], q[1].mult, q[1].shift, o);
        out[pixel] = mote_requantize(sum[3], q[1].mult, q[1].shift, o);
        out++;
    }
    if (c > 0) { /* an odd last channel: its partner's weights are zero */
        int32_t sum[4] = {q[0].bias, 0, q[0].bias, 0};
        mote_dot_2x2(x0, x1, w, depth, sum);
        out[0] = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        out[pixel] = mote_requantize(sum[2], q[0].mult, q[0].shift, o);
    }
}

MOTE_NOINLINE void mote_gemm_1(const mote_gemm_s8_t *g, const int8_t *x0, int8_t *out) {
    const int32_t depth = g->depth, stride = (depth + 3) / 4 * 8;
    const mote_output_t o = g->output;
    const mote_channel_t *q = g->channel;
    const int8_t *w = g->weights;
    int32_t c = g->channels;
#if MOTE_DSP
    for (; c > 0; c -= 4, q += 4, w += 2 * stride) { /* where there is no second pair the first one stands in for it */
        int32_t sum[4] = {q[0].bias, c > 1 ? q[1].bias : 0, c > 2 ? q[2].bias : 0, c > 3 ? q[3].bias : 0};
        mote_dot_1x2x2(x0, w, c > 2 ? w + stride : w, depth, sum);
        if (o.plain && c > 3) {
            out[0] = mote_requantize_plain(sum[0], q[0].mult, q[0].shift, o.zero);
            out[1] = mote_requantize_plain(sum[1], q[1].mult, q[1].shift, o.zero);
            out[2] = mote_requantize_plain(sum[2], q[2].mult, q[2].shift, o.zero);
            out[3] = mote_requantize_plain(sum[3], q[3].mult, q[3].shift, o.zero);
            out += 4;
            continue;
        }
        for (int32_t i = 0; i < mote_min(c, 4); i++, out++) {
            out[0] = mote_requantize(sum[i], q[i].mult, q[i].shift, o);
        }
    }
#else
    for (; c > 0; c -= 2, q += 2, w += stride, out += 2) {
        int32_t sum[2] = {q[0].bias, c > 1 ? q[1].bias : 0};
        mote_dot_1x2(x0, w, depth, sum);
        out[0] = mote_requantize(sum[0], q[0].mult, q[0].shift, o);
        if (c > 1) {
            out[1] = mote_requantize(sum[1], q[1].mult, q[1].shift, o);
        }
    }
#endif
}

#endif
