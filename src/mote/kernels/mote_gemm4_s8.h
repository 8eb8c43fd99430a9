/* mote_gemm4_s8.h: int8 convolutions four pixels at a time, for cores with DSP instructions and memory to spare.
 *
 * Inputs are widened once to 16 bits and shared by all output channels. A 16-bit weight holds two channels, w0 +
 * 256 * w1: multiplied as it is it gives both dot products in one sum (d0 + 256 * d1), and its low byte gives d0, so
 * one unpacking serves two channels. The compiler makes sure that no sum overflows and that no weight is -128. Twelve
 * instructions for sixteen products; the portable code beside the assembly defines what it means.
 *
 * Weights: for each pair of channels `depth` half words in the order that widening gives the inputs: 0, 2, 1, 3 of
 * each four. The depth is padded to a multiple of eight. Scratch: 8 * depth bytes for the widened inputs, as words
 * [depth / 2][4 pixels], then `depth` bytes to gather a window in.
 */
#ifndef MOTE_GEMM4_S8_H
#define MOTE_GEMM4_S8_H

#include "mote_conv2d_s8.h"

typedef struct {
    int32_t depth, channels;     /* padded depth; output channels */
    int32_t pixel, channel_step; /* from one output pixel to the next, and from one channel to the next */
    mote_output_t output;
    const int16_t *weights;
    const mote_channel_t *channel;
} mote_gemm4_s8_t;

/* sum[0..3] += d0 and sum[4..7] += d0 + 256 * d1 of four pixels; `end` is where x ends. */
#if MOTE_DSP
/* Two products of each of four pixels and two channels. r8: inputs, r9: weights. */
#define MOTE_GEMM4_STEP \
    "ldr r10, [r9], #4\n\t" \
    "ldm r8!, {r12, lr}\n\t" \
    "sxtb16 r11, r10\n\t" \
    "smlad r4, r12, r10, r4\n\t" \
    "smlad r0, r12, r11, r0\n\t" \
    "smlad r5, lr, r10, r5\n\t" \
    "smlad r1, lr, r11, r1\n\t" \
    "ldm r8!, {r12, lr}\n\t" \
    "smlad r6, r12, r10, r6\n\t" \
    "smlad r2, r12, r11, r2\n\t" \
    "smlad r7, lr, r10, r7\n\t" \
    "smlad r3, lr, r11, r3\n\t"

/* Every register is in use: eight sums, two pointers, two inputs, a weight and its low bytes. */
__attribute__((naked, noinline, unused)) static void mote_dot_4x2(const uint32_t *x __attribute__((unused)),
                                                                  const int16_t *w __attribute__((unused)),
                                                                  const uint32_t *end __attribute__((unused)),
                                                                  int32_t *sum __attribute__((unused))) {
    __asm__ volatile(MOTE_EIGHT_SUMS(MOTE_GEMM4_STEP MOTE_GEMM4_STEP MOTE_GEMM4_STEP MOTE_GEMM4_STEP));
}
#else
/* Sums wrap as registers do: a block with fewer than four pixels has leftovers in the others' places. */
static inline int32_t mote_wrapping_add(int32_t sum, int32_t a, int32_t b) {
    return (int32_t)((uint32_t)sum + (uint32_t)a + (uint32_t)b);
}

static inline void mote_dot_4x2(const uint32_t *x, const int16_t *w, const uint32_t *end, int32_t *sum) {
    for (; x < end; w += 2) {
        for (int32_t p = 0; p < 4; p++, x++) {
            const int32_t x0 = (int16_t)(*x & 0xffff), x1 = (int16_t)(*x >> 16);
            sum[p] = mote_wrapping_add(sum[p], x0 * (int8_t)(w[0] & 0xff), x1 * (int8_t)(w[1] & 0xff));
            sum[p + 4] = mote_wrapping_add(sum[p + 4], x0 * w[0], x1 * w[1]);
        }
    }
}
#endif

/* One pixel's `depth` bytes as its column of the widened block. */
static inline void mote_widen(const int8_t *from, int32_t depth, uint32_t *to) {
    for (; depth > 0; depth -= 4, from += 4, to += 8) {
#if MOTE_DSP
        const uint32_t word = mote_load4(from);
        to[0] = mote_sxtb16(word);
        to[4] = mote_sxtb16_ror8(word);
#else
        to[0] = (uint32_t)(uint16_t)from[0] | (uint32_t)(uint16_t)from[2] << 16;
        to[4] = (uint32_t)(uint16_t)from[1] | (uint32_t)(uint16_t)from[3] << 16;
#endif
    }
}

/* Four pixels of a channel. */
static inline void mote_store_4(int32_t a, int32_t b, int32_t c, int32_t d, const mote_channel_t *q, int32_t zero,
                                int32_t pixel, int8_t *out) {
    const int32_t mult = q->mult, shift = q->shift;
    out[0] = mote_requantize_plain(a, mult, shift, zero);
    out[pixel] = mote_requantize_plain(b, mult, shift, zero);
    out[2 * pixel] = mote_requantize_plain(c, mult, shift, zero);
    out[3 * pixel] = mote_requantize_plain(d, mult, shift, zero);
}

/* The block against every channel; the first `pixels` of the four are stored. */
MOTE_NOINLINE void mote_gemm4_block(const mote_gemm4_s8_t *g, const uint32_t *x, int32_t pixels, int8_t *out) {
    const int32_t depth = g->depth, pixel = g->pixel, step = g->channel_step;
    const mote_output_t o = g->output;
    const int32_t plain = o.plain && pixels == 4;
    const uint32_t *const end = x + 2 * depth;
    const mote_channel_t *q = g->channel;
    const int16_t *w = g->weights;
    for (int32_t c = g->channels; c > 0; c -= 2, q += 2, w += depth, out += 2 * step) {
        const int32_t last = c == 1, b0 = q[0].bias, b1 = last ? 0 : q[1].bias, both = b0 + 256 * b1;
        int32_t sum[8] = {b0, b0, b0, b0, both, both, both, both};
        int8_t *to = out;
        mote_dot_4x2(x, w, end, sum);
        if (plain && !last) {
            mote_store_4(sum[0], sum[1], sum[2], sum[3], q, o.zero, pixel, to);
            mote_store_4((sum[4] - sum[0]) >> 8, (sum[5] - sum[1]) >> 8, (sum[6] - sum[2]) >> 8, (sum[7] - sum[3]) >> 8,
                         q + 1, o.zero, pixel, to + step);
            continue;
        }
        for (int32_t p = 0; p < pixels; p++, to += pixel) {
            to[0] = mote_requantize(sum[p], q[0].mult, q[0].shift, o);
        }
        if (last) {
            break;
        }
        to = out + step;
        for (int32_t p = 0; p < pixels; p++, to += pixel) {
            to[0] = mote_requantize((sum[p + 4] - sum[p]) >> 8, q[1].mult, q[1].shift, o);
        }
    }
}

typedef struct {
    int32_t in_channels;
    mote_gemm4_s8_t gemm;
} mote_pointwise4_s8_t;

/* A 1x1 convolution of any run of pixels. */
static inline void mote_pointwise4_s8(const mote_pointwise4_s8_t *p, const int8_t *in, int8_t *out, int32_t pixels,
                                      uint32_t *scratch) {
    const int32_t depth = p->gemm.depth, channels = p->in_channels, pixel = p->gemm.pixel;
    int8_t *const padded = (int8_t *)(scratch + 2 * depth);
    memset(padded + channels, 0, (size_t)(depth - channels));
    for (; pixels > 0; pixels -= 4, out += 4 * pixel) {
        const int32_t n = mote_min(pixels, 4);
        for (int32_t i = 0; i < n; i++, in += channels) {
            if (depth == channels) {
                mote_widen(in, depth, scratch + i);
            } else {
                memcpy(padded, in, (size_t)channels);
                mote_widen(padded, depth, scratch + i);
            }
        }
        mote_gemm4_block(&p->gemm, scratch, n, out);
    }
}

/* Row by row, for an output whose rows are not one run of pixels. */
typedef struct {
    mote_pointwise4_s8_t pixels;
    int32_t width, in_stride, out_stride;
} mote_pointwise4_rows_s8_t;

static inline void mote_pointwise4_rows_s8(const mote_pointwise4_rows_s8_t *p, const int8_t *in, int8_t *out,
                                           int32_t lo, int32_t hi, uint32_t *scratch) {
    for (int32_t y = lo; y < hi; y++) {
        mote_pointwise4_s8(&p->pixels, in + y * p->in_stride, out + y * p->out_stride, p->width, scratch);
    }
}

typedef struct {
    mote_patch_t patch;
    mote_gemm4_s8_t gemm;
} mote_conv2d4_s8_t;

static inline void mote_conv2d4_s8_row(const mote_conv2d4_s8_t *p, const int8_t *const *rows, int8_t *out,
                                       uint32_t *scratch) {
    const mote_patch_t *const w = &p->patch;
    const int32_t depth = p->gemm.depth, used = w->rows.taps * w->cols.taps * w->in_channels;
    int8_t *const gathered = (int8_t *)(scratch + 2 * depth);
    memset(gathered + used, 0, (size_t)(depth - used));
    for (int32_t x = 0; x < w->cols.out_size; x += 4, out += 4 * p->gemm.pixel) {
        const int32_t n = mote_min(w->cols.out_size - x, 4);
        for (int32_t i = 0; i < n; i++) {
            mote_gather(w, rows, x + i, gathered);
            mote_widen(gathered, depth, scratch + i);
        }
        mote_gemm4_block(&p->gemm, scratch, n, out);
    }
}

static inline void mote_conv2d4_s8(const mote_conv2d4_s8_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi,
                                   uint32_t *scratch) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->patch.rows, in, y, rows);
        mote_conv2d4_s8_row(p, rows, out + y * p->patch.rows.out_stride, scratch);
    }
}

#endif
