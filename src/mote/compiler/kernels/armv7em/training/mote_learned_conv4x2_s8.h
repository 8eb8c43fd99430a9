/* mote_learned_conv4x2_s8.h: convolutions whose weights and biases learn, four channels of two pixels at a time, for cores
 * with DSP instructions.
 *
 * The image is widened less its zero point, each row beside the one that lies half of the output further down, so that
 * the windows of both pixels are read in one go; then the weights of four channels, for all pixels. */
#ifndef MOTE_LEARNED_CONV4X2_S8_H
#define MOTE_LEARNED_CONV4X2_S8_H

#include "mote_clear.h"
#include "mote_gradient_axis.h"
#include "mote_learned_conv2d_s8.h"

typedef struct {
    mote_gradient_axis_t rows, cols; /* taps lie side by side */
    int32_t inputs;                  /* channels of the image, a multiple of eight */
    mote_learned_layer_t layer;
} mote_learned_conv4x2_s8_t;

/* Where things lie in working memory, in numbers of 16 bits: widened lines, each of two rows, and weights. */
typedef struct {
    int32_t half; /* output rows between two pixels */
    int32_t lines, line, weights, all;
} mote_learned_room_t;

/* A window's part of the lines: its bytes of one, those from its end to where it goes on in the next, and the lines. */
typedef struct {
    int32_t bytes, skip, lines;
} mote_learned_window_t;

static inline mote_learned_room_t mote_learned_room(const mote_learned_conv4x2_s8_t *p) {
    mote_learned_room_t r;
    r.half = (p->rows.out + 1) / 2;
    r.lines = (r.half - 1) * p->rows.stride + p->rows.taps;
    r.line = 2 * p->inputs * ((p->cols.out - 1) * p->cols.stride + p->cols.taps);
    r.weights = r.lines * r.line;
    r.all = r.weights + 4 * p->layer.depth;
    return r;
}

/* A row of the image as one of the two of a line, which is zero. */
static inline void mote_learned_widen_row(const mote_learned_conv4x2_s8_t *p, int32_t line, const int8_t *in,
                                          int32_t row, int16_t *to) {
    const int32_t pad = p->cols.pad, pixels = mote_min(p->cols.in, line / (2 * p->inputs) - pad);
    if (row >= 0 && row < p->rows.in && pixels > 0) {
        const int8_t *const from = in + row * p->cols.in * p->inputs;
        mote_plain_inputs(from, pixels * p->inputs, p->layer.in_zero, to + 2 * pad * p->inputs);
    }
}

static inline void mote_learned_widen(const mote_learned_conv4x2_s8_t *p, const mote_learned_room_t *r,
                                      const int8_t *in, int16_t *to) {
    mote_clear((int8_t *)to, 2 * r->weights);
    for (int32_t y = 0; y < r->lines; y++, to += r->line) {
        const int32_t row = y - p->rows.pad;
        mote_learned_widen_row(p, r->line, in, row, to);
        mote_learned_widen_row(p, r->line, in, row + r->half * p->rows.stride, to + MOTE_PLAIN_SECOND);
    }
}

#if MOTE_DSP
/* Weights of four channels: of each four inputs first 0 and 2 of all channels, then 1 and 3. */
static inline void mote_learned_widen_weights(const int8_t *from, int32_t depth, int32_t channel, int16_t *to) {
    uint32_t *words = (uint32_t *)(void *)to + channel;
    for (const int8_t *const end = from + depth; from < end; from += 8, words += 16) {
        const uint32_t x = mote_load4(from), y = mote_load4(from + 4);
        words[0] = mote_sxtb16(x);
        words[4] = mote_sxtb16_ror8(x);
        words[8] = mote_sxtb16(y);
        words[12] = mote_sxtb16_ror8(y);
    }
}

#define MOTE_LEARNED_HALF \
    "ldrd r2, r3, [r0], #8\n\t" \
    "ldrd r12, lr, [r1], #8\n\t" \
    "smlad r4, r2, r12, r4\n\t" \
    "smlad r8, r3, r12, r8\n\t" \
    "smlad r5, r2, lr, r5\n\t" \
    "smlad r9, r3, lr, r9\n\t" \
    "ldrd r12, lr, [r1], #8\n\t" \
    "smlad r6, r2, r12, r6\n\t" \
    "smlad r10, r3, r12, r10\n\t" \
    "smlad r7, r2, lr, r7\n\t" \
    "smlad r11, r3, lr, r11\n\t"

#define MOTE_LEARNED_EIGHT MOTE_LEARNED_HALF MOTE_LEARNED_HALF MOTE_LEARNED_HALF MOTE_LEARNED_HALF

/* Adds a window's products to sums of four channels of one pixel, and of the other. 91 instructions for 16 inputs; where
 * a line has an odd number of eights, it begins in the middle. */
__attribute__((naked, noinline, unused)) static void mote_learned_dot_4x2(
    const int16_t *x __attribute__((unused)), const int16_t *weights __attribute__((unused)),
    int32_t *sums __attribute__((unused)), const mote_learned_window_t *window __attribute__((unused))) {
    __asm__ volatile("push {r2-r11, lr}\n\t"
                     "ldm r2, {r4-r11}\n\t"
                     "ldr r2, [r3]\n\t"
                     "ldr r12, [r3, #8]\n\t"
                     "add r3, r2, r0\n\t"
                     "push {r3, r12}\n"
                     "1:\n\t"
                     "tst r2, #32\n\t"
                     "bne 3f\n"
                     "2:\n\t" MOTE_LEARNED_EIGHT
                     "3:\n\t" MOTE_LEARNED_EIGHT
                     "ldr r2, [sp]\n\t"
                     "cmp r0, r2\n\t"
                     "bne 2b\n\t"
                     "ldr r12, [sp, #4]\n\t"
                     "ldr r2, [sp, #12]\n\t"
                     "subs r12, r12, #1\n\t"
                     "str r12, [sp, #4]\n\t"
                     "ldrd r2, r3, [r2]\n\t"
                     "add r0, r0, r3\n\t"
                     "add r3, r2, r0\n\t"
                     "str r3, [sp]\n\t"
                     "bne 1b\n\t"
                     "ldr r2, [sp, #8]\n\t"
                     "stm r2, {r4-r11}\n\t"
                     "add sp, sp, #16\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#else
static inline void mote_learned_widen_weights(const int8_t *from, int32_t depth, int32_t channel, int16_t *to) {
    for (int32_t k = 0; k < depth; k++) {
        to[k / 4 * 16 + 4 * channel + k % 4] = from[k];
    }
}

static inline void mote_learned_dot_4x2(const int16_t *x, const int16_t *weights, int32_t *sums,
                                        const mote_learned_window_t *window) {
    for (int32_t y = 0; y < window->lines; y++, x += window->skip / 2) {
        for (const int16_t *const end = x + window->bytes / 2; x < end; x += 8, weights += 16) {
            for (int32_t i = 0; i < 32; i++) {
                sums[i / 4] = MOTE_PLUS(sums[i / 4], (int32_t)x[i / 16 * 4 + i % 4] * weights[i % 16]);
            }
        }
    }
}
#endif

/* One to four channels of a pixel. */
static inline void mote_learned_four(const mote_learned_layer_t *p, int32_t channel, int32_t count, const int32_t *sums,
                                     int8_t *out) {
    const mote_channel_t *const c = p->channel + channel;
    const int32_t zero = p->output.zero;
    if (count == 4 && p->output.plain && p->exact == NULL) {
        out[0] = mote_requantize_plain(sums[0], c[0].mult, c[0].shift, zero);
        out[1] = mote_requantize_plain(sums[1], c[1].mult, c[1].shift, zero);
        out[2] = mote_requantize_plain(sums[2], c[2].mult, c[2].shift, zero);
        out[3] = mote_requantize_plain(sums[3], c[3].mult, c[3].shift, zero);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        out[i] = mote_learned_result(p, channel + i, sums[i]);
    }
}

/* One to four channels of all pixels. */
MOTE_NOINLINE MOTE_HOT void mote_learned_channels(const mote_learned_conv4x2_s8_t *p, const mote_learned_room_t *r,
                                                  int32_t channel, const int32_t *bias, int8_t *out,
                                                  const int16_t *scratch) {
    const int32_t run = 2 * p->cols.taps * p->inputs, count = mote_min(p->layer.channels - channel, 4);
    const mote_learned_window_t window = {2 * run, 2 * (r->line - run), p->rows.taps};
    int32_t starts[4] = {0, 0, 0, 0};
    for (int32_t i = 0; i < count; i++) {
        starts[i] = mote_learned_start(&p->layer, channel + i, bias);
    }
    for (int32_t y = 0; y < r->half; y++) {
        const int32_t below = (y + r->half < p->rows.out ? r->half : 0) * p->cols.out * p->layer.pixel;
        const int16_t *from = scratch + y * p->rows.stride * r->line;
        int8_t *to = out + y * p->cols.out * p->layer.pixel + channel;
        for (int32_t x = 0; x < p->cols.out; x++, from += 2 * p->cols.stride * p->inputs, to += p->layer.pixel) {
            int32_t sums[8];
            memcpy(sums, starts, sizeof starts);
            memcpy(sums + 4, starts, sizeof starts);
            mote_learned_dot_4x2(from, scratch + r->weights, sums, &window);
            mote_learned_four(&p->layer, channel, count, sums + 4, to + below);
            mote_learned_four(&p->layer, channel, count, sums, to);
        }
    }
}

/* Operands: image, weights [out][kh][kw][in], biases. */
static inline void mote_learned_conv4x2_s8(const mote_learned_conv4x2_s8_t *p, const int8_t *in, const int8_t *weights,
                                           const int32_t *bias, int8_t *out, void *scratch) {
    const mote_learned_room_t r = mote_learned_room(p);
    const int32_t depth = p->layer.depth, last = p->layer.channels - 1;
    int16_t *const room = (int16_t *)scratch;
    mote_learned_widen(p, &r, in, room);
    for (int32_t c = 0; c <= last; c += 4) {
        for (int32_t i = 0; i < 4; i++) {
            mote_learned_widen_weights(weights + mote_min(c + i, last) * depth, depth, i, room + r.weights);
        }
        mote_learned_channels(p, &r, c, bias, out, room);
    }
}

#endif
