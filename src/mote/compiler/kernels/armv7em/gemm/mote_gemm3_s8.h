/* mote_gemm3_s8.h: int8 convolutions three pixels and two channels at a time, for cores with DSP instructions.
 *
 * Inputs are widened once to 16 bits, [depth / 2][3 pixels] words, and shared by all output channels; every register
 * is in use, and no sum leaves its register before it is a byte. Sums come scaled so that a byte takes two
 * instructions (see the compiler's pack/narrow.py); the shift is built into the code, hence the macro that makes a
 * function for each shift that a model needs.
 *
 * Weights come in one of two forms, as a stream with the constants of each pair of channels in the order of use:
 *   wide  16 bits a weight, scaled: 8 instructions for 12 products
 *   pair  w0 + 256 * w1 in 16 bits: as it is it gives d0 + 256 * d1, and its low byte gives d0: 17 for 24 products
 *   once  the same, for results that are rounded once
 * With `_sparse4` or `_sparse2` only blocks of that many products of a sum are there that are not zero for both
 * channels; behind the first word of each channel's weights a block has the distance of its inputs, in bytes, from
 * the end of those of the block before it. Blocks follow their inputs, but for the first one, which comes last: the
 * one way back ends the sums, in the carry of the addition. There are two blocks at least. Two instructions more a
 * block. Any two channels can be a pair: where their outputs go is behind their constants, and the number of words
 * before all of the stream.
 * Outputs come in one of three forms: `nhwc` and `planar` (see mote_planar_s8.h) where negative results vanish in the
 * activation, `linear` (in NHWC) where they do not.
 */
#ifndef MOTE_GEMM3_S8_H
#define MOTE_GEMM3_S8_H

#include "mote_clear.h"
#include "mote_conv2d_s8.h"

/* Behind the widened inputs: where the three pixels' outputs go. */
typedef struct {
    int8_t *to[3];
    int32_t offset, step; /* planar: of the next channel, and from one channel to the next */
    int32_t limit;        /* where to[0] (nhwc), offset (planar) or the stream (sparse) is after the last channel */
    uint32_t *inputs;
} mote_gemm3_tail_t;

typedef struct {
    int32_t depth;         /* products in a sum, padded to a multiple of four */
    int32_t channels;      /* output channels */
    int32_t pixel, planes; /* from one output pixel to the next (nhwc), from one channel to the next (planar) */
    int32_t before;        /* planar: bytes of padding before a line */
    const int32_t *stream;
} mote_gemm3_t;

#if MOTE_DSP
#define MOTE_TEXT(x) #x
#define MOTE_ASM_STRING(x) MOTE_TEXT(x)

/* Two products of each of three pixels and two channels whose weights are in two registers. */
#define MOTE_GEMM3_MACS(w0, w1) \
    "smlad r0, r3, " w0 ", r0\n\t" \
    "smlad r4, r3, " w1 ", r4\n\t" \
    "smlad r1, r7, " w0 ", r1\n\t" \
    "smlad r5, r7, " w1 ", r5\n\t" \
    "smlad r2, r12, " w0 ", r2\n\t" \
    "smlad r6, r12, " w1 ", r6\n\t"

/* The first ones: r0 and r4 hold the biases. */
#define MOTE_GEMM3_FIRST(w0, w1) \
    "smlad r1, r7, " w0 ", r0\n\t" \
    "smlad r5, r7, " w1 ", r4\n\t" \
    "smlad r2, r12, " w0 ", r0\n\t" \
    "smlad r6, r12, " w1 ", r4\n\t" \
    "smlad r0, r3, " w0 ", r0\n\t" \
    "smlad r4, r3, " w1 ", r4\n\t"

/* Two products of `wide` or `pair` weights, by either of the above. */
#define MOTE_GEMM3_TWO_wide(macs) "ldm r8!, {r3, r7, r12}\n\t" macs("r10", "r11")
#define MOTE_GEMM3_TWO_pair(macs, w) \
    "ldm r8!, {r3, r7, r12}\n\t" \
    "sxtb16 r11, " w "\n\t" macs("r11", w)

/* The inputs of two products, and two words of weights behind them: a Cortex-M4 takes one cycle for a load behind
 * another whose pointer is not the one that just moved, and 12 (wide) or 24 (pair) for a step. */
#define MOTE_GEMM3_LOADS(w0, w1) \
    "ldr r7, [r8, #4]\n\t" \
    "ldr r12, [r8, #8]\n\t" \
    "ldr r3, [r8], #12\n\t" \
    "ldr " w1 ", [r9, #4]\n\t" \
    "ldr " w0 ", [r9], #8\n\t"

/* wide: 44 bytes of code a step; lr is where the inputs end. */
#define MOTE_GEMM3_STEP_wide MOTE_GEMM3_LOADS("r10", "r11") MOTE_GEMM3_MACS("r10", "r11")
#define MOTE_GEMM3_LOOP_wide_all \
    "ldm r9!, {r0, r4, r10, r11}\n\t" MOTE_GEMM3_TWO_wide(MOTE_GEMM3_FIRST) \
    "ldr pc, [sp]\n" \
    "2:\n\t" MOTE_GEMM3_STEP_wide MOTE_GEMM3_STEP_wide MOTE_GEMM3_STEP_wide MOTE_GEMM3_STEP_wide \
        MOTE_GEMM3_STEP_wide MOTE_GEMM3_STEP_wide MOTE_GEMM3_STEP_wide MOTE_GEMM3_STEP_wide \
    "3:\n\t" \
    "cmp r8, lr\n\t" \
    "bne 2b\n\t"

/* pair: 80 bytes of code a step of four products; where the inputs end is on the stack. */
#define MOTE_GEMM3_STEP_pair \
    MOTE_GEMM3_LOADS("r10", "lr") \
    "sxtb16 r11, r10\n\t" MOTE_GEMM3_MACS("r11", "r10") MOTE_GEMM3_TWO_pair(MOTE_GEMM3_MACS, "lr")
#define MOTE_GEMM3_LOOP_pair_all \
    "ldm r9!, {r0, r4, r10, lr}\n\t" MOTE_GEMM3_TWO_pair(MOTE_GEMM3_FIRST, "r10") \
        MOTE_GEMM3_TWO_pair(MOTE_GEMM3_MACS, "lr") \
    "ldr pc, [sp]\n" \
    "2:\n\t" MOTE_GEMM3_STEP_pair MOTE_GEMM3_STEP_pair MOTE_GEMM3_STEP_pair MOTE_GEMM3_STEP_pair \
    "3:\n\t" \
    "ldr r10, [sp, #4]\n\t" \
    "cmp r8, r10\n\t" \
    "bne 2b\n\t"

#define MOTE_GEMM3_LOOP_once_all MOTE_GEMM3_LOOP_pair_all

/* sparse: r12 has the distance of a block's inputs before it has an input. Multiplying leaves the carry as it is. */
#define MOTE_GEMM3_BLOCKS(block) \
    block(MOTE_GEMM3_FIRST, "r0, r4, ") "2:\n\t" block(MOTE_GEMM3_MACS, "") \
    "bcc 2b\n" \
    "3:\n\t" \
    "ldr r8, [sp, #4]\n\t"
#define MOTE_GEMM3_WIDE2(macs, biases) \
    "ldm r9!, {" biases "r10, r11, r12}\n\t" \
    "adds r8, r8, r12\n\t" MOTE_GEMM3_TWO_wide(macs)
#define MOTE_GEMM3_WIDE4(macs, biases) \
    MOTE_GEMM3_WIDE2(macs, biases) \
    "ldm r9!, {r10, r11}\n\t" MOTE_GEMM3_TWO_wide(MOTE_GEMM3_MACS)
#define MOTE_GEMM3_PAIR2(macs, biases) \
    "ldm r9!, {" biases "r10, r12}\n\t" \
    "adds r8, r8, r12\n\t" MOTE_GEMM3_TWO_pair(macs, "r10")
#define MOTE_GEMM3_PAIR4(macs, biases) \
    "ldm r9!, {" biases "r10, r12, lr}\n\t" \
    "adds r8, r8, r12\n\t" MOTE_GEMM3_TWO_pair(macs, "r10") MOTE_GEMM3_TWO_pair(MOTE_GEMM3_MACS, "lr")
#define MOTE_GEMM3_LOOP_wide_sparse2 MOTE_GEMM3_BLOCKS(MOTE_GEMM3_WIDE2)
#define MOTE_GEMM3_LOOP_wide_sparse4 MOTE_GEMM3_BLOCKS(MOTE_GEMM3_WIDE4)
#define MOTE_GEMM3_LOOP_pair_sparse2 MOTE_GEMM3_BLOCKS(MOTE_GEMM3_PAIR2)
#define MOTE_GEMM3_LOOP_pair_sparse4 MOTE_GEMM3_BLOCKS(MOTE_GEMM3_PAIR4)
#define MOTE_GEMM3_LOOP_once_sparse2 MOTE_GEMM3_LOOP_pair_sparse2
#define MOTE_GEMM3_LOOP_once_sparse4 MOTE_GEMM3_LOOP_pair_sparse4

/* Sums of a channel times its multiplier, with constants from the stream. */
#define MOTE_GEMM3_SCALE_relu(a, b, c) \
    "ldm r9!, {r10, r11}\n\t" \
    "smmla " a ", " a ", r10, r11\n\t" \
    "smmla " b ", " b ", r10, r11\n\t" \
    "smmla " c ", " c ", r10, r11\n\t"
#define MOTE_GEMM3_SCALE_linear(a, b, c) \
    "ldm r9!, {r10, r11, r12}\n\t" \
    "bic r3, r12, " a ", asr #31\n\t" \
    "bic r7, r12, " b ", asr #31\n\t" \
    "bic r12, r12, " c ", asr #31\n\t" \
    "add r3, r3, r11\n\t" \
    "add r7, r7, r11\n\t" \
    "add r12, r12, r11\n\t" \
    "smmla " a ", " a ", r10, r3\n\t" \
    "smmla " b ", " b ", r10, r7\n\t" \
    "smmla " c ", " c ", r10, r12\n\t"

/* wide: both channels are scaled to the same shift. */
#define MOTE_GEMM3_NARROW_wide(scale, sat, s) \
    MOTE_GEMM3_SCALE_##scale("r0", "r1", "r2") MOTE_GEMM3_SCALE_##scale("r4", "r5", "r6") \
    sat " r0, #8, r0, asr #" s "\n\t" \
    sat " r1, #8, r1, asr #" s "\n\t" \
    sat " r2, #8, r2, asr #" s "\n\t" \
    sat " r4, #8, r4, asr #" s "\n\t" \
    sat " r5, #8, r5, asr #" s "\n\t" \
    sat " r6, #8, r6, asr #" s "\n\t"

/* pair: the first channel is not scaled and the second by 256, so that the shift is the channel's own, in a register.
 * Both are bytes of one word, of which the first is what a register shifts by; the upper half of that word is added to
 * the first channel's result before the last bit of its shift. The first channel's product is doubled and rounded by
 * SMMLAR; the stream has 2 * mult - 2^32 for it. */
#define MOTE_GEMM3_HIGH_relu(a) "smmlar " a ", " a ", r10, " a "\n\t"
#define MOTE_GEMM3_HIGH_linear(a) \
    "smmlar " a ", " a ", r10, " a "\n\t" \
    "add " a ", " a ", " a ", asr #31\n\t"
#define MOTE_GEMM3_SHIFT(sat, a, by) \
    "asr " a ", " a ", " by "\n\t" \
    sat " " a ", #8, " a "\n\t"
#define MOTE_GEMM3_LOW_pair(sat, a) \
    "asr " a ", " a ", r12\n\t" \
    "add " a ", " a ", r11\n\t" \
    sat " " a ", #8, " a ", asr #1\n\t"
#define MOTE_GEMM3_LOW_once(sat, a) "add " a ", " a ", r11\n\t" MOTE_GEMM3_SHIFT(sat, a, "r12")
#define MOTE_GEMM3_CONSTANTS_pair \
    "ldm r9!, {r10, r12}\n\t" \
    "asr r11, r12, #16\n\t"
#define MOTE_GEMM3_CONSTANTS_once "ldm r9!, {r10, r11, r12}\n\t"
#define MOTE_GEMM3_SECOND_relu "11"
#define MOTE_GEMM3_SECOND_linear "15"
#define MOTE_GEMM3_NARROW_BYTES(weights, scale, sat) \
    "sub r4, r4, r0\n\t" \
    "sub r5, r5, r1\n\t" \
    "sub r6, r6, r2\n\t" MOTE_GEMM3_CONSTANTS_##weights \
    MOTE_GEMM3_HIGH_##scale("r0") MOTE_GEMM3_HIGH_##scale("r1") MOTE_GEMM3_HIGH_##scale("r2") \
    MOTE_GEMM3_LOW_##weights(sat, "r0") MOTE_GEMM3_LOW_##weights(sat, "r1") MOTE_GEMM3_LOW_##weights(sat, "r2") \
    MOTE_GEMM3_SCALE_##scale("r4", "r5", "r6") \
    "ldrb r12, [r9, #-" MOTE_GEMM3_SECOND_##scale "]\n\t" \
    MOTE_GEMM3_SHIFT(sat, "r4", "r12") MOTE_GEMM3_SHIFT(sat, "r5", "r12") MOTE_GEMM3_SHIFT(sat, "r6", "r12")
#define MOTE_GEMM3_NARROW_pair(scale, sat, s) MOTE_GEMM3_NARROW_BYTES(pair, scale, sat)
#define MOTE_GEMM3_NARROW_once(scale, sat, s) MOTE_GEMM3_NARROW_BYTES(once, scale, sat)

/* Two bytes of each pixel, side by side, or one plane apart. */
#define MOTE_GEMM3_STORE_nhwc \
    "ldm r8, {r3, r7, r12}\n\t" \
    "strb r4, [r3, #1]\n\t" \
    "strb r5, [r7, #1]\n\t" \
    "strb r6, [r12, #1]\n\t" \
    "strb r0, [r3], #2\n\t" \
    "strb r1, [r7], #2\n\t" \
    "strb r2, [r12], #2\n\t" \
    "stm r8, {r3, r7, r12}\n\t" \
    "ldrd r11, r8, [r8, #20]\n\t" \
    "cmp r3, r11\n\t"
#define MOTE_GEMM3_STORE_planar \
    "ldm r8, {r3, r7, r12}\n\t" \
    "ldrd r10, r11, [r8, #12]\n\t" \
    "strb r0, [r3, r10]\n\t" \
    "strb r1, [r7, r10]\n\t" \
    "strb r2, [r12, r10]\n\t" \
    "add r10, r10, r11\n\t" \
    "strb r4, [r3, r10]\n\t" \
    "strb r5, [r7, r10]\n\t" \
    "strb r6, [r12, r10]\n\t" \
    "add r10, r10, r11\n\t" \
    "str r10, [r8, #12]\n\t" \
    "ldrd r11, r8, [r8, #20]\n\t" \
    "cmp r10, r11\n\t"

/* The same wherever the stream says, the second channel's first: it may be there twice. */
#define MOTE_GEMM3_STORE_scattered \
    "ldm r8, {r3, r7, r12}\n\t" \
    "ldm r9!, {r10, r11}\n\t" \
    "strb r4, [r3, r11]\n\t" \
    "strb r5, [r7, r11]\n\t" \
    "strb r6, [r12, r11]\n\t" \
    "strb r0, [r3, r10]\n\t" \
    "strb r1, [r7, r10]\n\t" \
    "strb r2, [r12, r10]\n\t" \
    "ldrd r11, r8, [r8, #20]\n\t" \
    "cmp r9, r11\n\t"
#define MOTE_GEMM3_STORE_all(form) MOTE_GEMM3_STORE_##form
#define MOTE_GEMM3_STORE_sparse2(form) MOTE_GEMM3_STORE_scattered
#define MOTE_GEMM3_STORE_sparse4(form) MOTE_GEMM3_STORE_scattered

/* const int32_t *block(inputs, stream, tail, back): all pairs of channels of three pixels; gives where the stream goes
 * on. `back` is how many bytes before the end of the unrolled loop its first pass begins. `first` may leave more on the
 * stack, above what the loop has there: `stack` bytes in all. */
#define MOTE_GEMM3_BLOCK(name, weights, blocks, scale, sat, s, first, store, stack) \
    __attribute__((naked, noinline, unused, aligned(4))) static const int32_t *name( \
        const uint32_t *inputs __attribute__((unused)), const int32_t *stream __attribute__((unused)), \
        mote_gemm3_tail_t *tail __attribute__((unused)), int32_t back __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" first \
                         "adr.w r12, 3f\n\t" \
                         "sub r12, r12, r3\n\t" \
                         "orr r12, r12, #1\n\t" \
                         "push {r2}\n\t" \
                         "push {r12}\n\t" \
                         "mov r8, r0\n\t" \
                         "mov r9, r1\n\t" \
                         "mov lr, r2\n" \
                         "1:\n\t" MOTE_GEMM3_LOOP_##weights##_##blocks MOTE_GEMM3_NARROW_##weights(scale, sat, s) \
                             store "bne.w 1b\n\t" \
                         "mov r0, r9\n\t" \
                         "add sp, sp, #" stack "\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }
#define MOTE_GEMM3_BACK_wide(depth) (((depth) / 2 - 1) % 8 * 44)
#define MOTE_GEMM3_BACK_pair(depth) ((depth) == 4 ? 0 : (((depth) / 4 - 2) % 4 + 1) * 80)
#define MOTE_GEMM3_BACK_once MOTE_GEMM3_BACK_pair

#define MOTE_GEMM3_ASM_nhwc(name, weights, blocks, s) \
    MOTE_GEMM3_BLOCK(name, weights, blocks, relu, "ssat", MOTE_ASM_STRING(s), "", MOTE_GEMM3_STORE_##blocks(nhwc), "8")
#define MOTE_GEMM3_ASM_linear(name, weights, blocks, s) \
    MOTE_GEMM3_BLOCK(name, weights, blocks, linear, "ssat", MOTE_ASM_STRING(s), "", MOTE_GEMM3_STORE_##blocks(nhwc), "8")
#define MOTE_GEMM3_ASM_planar(name, weights, blocks, s) \
    MOTE_GEMM3_BLOCK(name, weights, blocks, relu, "usat", MOTE_ASM_STRING(s), "", MOTE_GEMM3_STORE_##blocks(planar), "8")
#define MOTE_GEMM3_FUNCTION(name, weights, blocks, out, s) MOTE_GEMM3_ASM_##out(name, weights, blocks, s)

/* Four inputs a step of each of three pixels, as words of 0 and 2, then of 1 and 3: ten instructions for twelve. */
__attribute__((naked, noinline, unused)) static uint32_t *mote_widen3(
    const int8_t *a __attribute__((unused)), const int8_t *b __attribute__((unused)),
    const int8_t *c __attribute__((unused)), uint32_t *to __attribute__((unused)),
    int32_t words __attribute__((unused))) {
    __asm__ volatile("push {r4-r10, lr}\n\t"
                     "ldr r10, [sp, #32]\n"
                     "1:\n\t"
                     "ldr r4, [r0], #4\n\t"
                     "ldr r5, [r1], #4\n\t"
                     "ldr r6, [r2], #4\n\t"
                     "subs r10, r10, #1\n\t"
                     "sxtb16 r7, r4, ror #8\n\t"
                     "sxtb16 r8, r5, ror #8\n\t"
                     "sxtb16 r9, r6, ror #8\n\t"
                     "sxtb16 r4, r4\n\t"
                     "sxtb16 r5, r5\n\t"
                     "sxtb16 r6, r6\n\t"
                     "stm r3!, {r4-r9}\n\t"
                     "bne 1b\n\t"
                     "mov r0, r3\n\t"
                     "pop {r4-r10, pc}\n\t");
}
/* The same for `words` words of each of `taps` rows, from three places in a row that are `step` bytes apart; for rows
 * that are not there from the line of padding. */
__attribute__((naked, noinline, unused)) static uint32_t *mote_widen3_rows(
    const int8_t *const *rows __attribute__((unused)), int32_t offset __attribute__((unused)),
    int32_t step __attribute__((unused)), uint32_t *to __attribute__((unused)), int32_t taps __attribute__((unused)),
    int32_t words __attribute__((unused)), const int8_t *padding __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "push {r1, r2}\n\t"
                     "ldr r11, [sp, #44]\n"
                     "1:\n\t"
                     "ldr r1, [r0], #4\n\t"
                     "ldr r10, [sp, #48]\n\t"
                     "ldrd r4, r5, [sp]\n\t"
                     "cbz r1, 3f\n\t"
                     "add r1, r1, r4\n\t"
                     "add r2, r1, r5\n\t"
                     "add r12, r2, r5\n"
                     "2:\n\t"
                     "ldr r4, [r1], #4\n\t"
                     "ldr r5, [r2], #4\n\t"
                     "ldr r6, [r12], #4\n\t"
                     "subs r10, r10, #1\n\t"
                     "sxtb16 r7, r4, ror #8\n\t"
                     "sxtb16 r8, r5, ror #8\n\t"
                     "sxtb16 r9, r6, ror #8\n\t"
                     "sxtb16 r4, r4\n\t"
                     "sxtb16 r5, r5\n\t"
                     "sxtb16 r6, r6\n\t"
                     "stm r3!, {r4-r9}\n\t"
                     "bne 2b\n\t"
                     "subs r11, r11, #1\n\t"
                     "bne 1b\n\t"
                     "mov r0, r3\n\t"
                     "add sp, sp, #8\n\t"
                     "pop {r4-r11, pc}\n"
                     "3:\n\t"
                     "ldr r1, [sp, #52]\n\t"
                     "mov r2, r1\n\t"
                     "mov r12, r1\n\t"
                     "b 2b\n\t");
}
#else
enum { mote_gemm3_wide, mote_gemm3_pair, mote_gemm3_once, mote_gemm3_nhwc, mote_gemm3_linear, mote_gemm3_planar };
#define MOTE_GEMM3_BACK_wide(depth) (depth)
#define MOTE_GEMM3_BACK_pair(depth) (depth)
#define MOTE_GEMM3_BACK_once(depth) (depth)

/* (y * mult >> 32) + add, as SMMLA does it; with the constant for sums below zero where that is another one. */
static inline int32_t mote_gemm3_scale(int32_t y, int32_t linear, const int32_t **stream) {
    const int32_t *const q = *stream;
    const int32_t add = linear && y >= 0 ? q[1] + q[2] : q[1];
    return (int32_t)(((int64_t)y * q[0] >> 32) + add);
}

/* Two channels' bytes of some pixels, from the stream's next weights and constants, and from biases that lie apart if
 * some are given; `words` of each pixel's inputs, or
 * blocks of so many. Sums wrap as registers do. */
#define MOTE_GEMM3_MOST 4 /* pixels */
static inline void mote_gemm3_two(const uint32_t *x, int32_t pixels, const int32_t **next, const int32_t *biases,
                                  int32_t words, int32_t weights, int32_t blocks, int32_t out, int32_t s,
                                  int32_t byte[2][MOTE_GEMM3_MOST]) {
    const int32_t pair = weights != mote_gemm3_wide, once = weights == mote_gemm3_once;
    const int32_t linear = out == mote_gemm3_linear;
    const int32_t lo = out == mote_gemm3_planar ? 0 : -128, hi = out == mote_gemm3_planar ? 255 : 127;
    const int32_t *stream = *next;
    uint32_t sum[2][MOTE_GEMM3_MOST];
    int32_t more = 0;
    for (int32_t c = 0; c < 2; c++, stream++) {
        for (int32_t i = 0; i < pixels; i++) {
            sum[c][i] = (uint32_t)(biases != NULL ? biases[c] : *stream);
        }
    }
    do {
        for (int32_t k = 0; k < words; k++) {
            const int32_t first = *stream++, second = pair ? first : *stream++;
            if (blocks && k == 0) {
                more = *stream >= 0;
                x += *stream++ / 4;
            }
            for (int32_t i = 0; i < pixels; i++, x++) {
                const int32_t x0 = (int16_t)(*x & 0xffff), x1 = (int16_t)(*x >> 16);
                int32_t v0 = (int16_t)(first & 0xffff), v1 = first >> 16;
                const int32_t u0 = (int16_t)(second & 0xffff), u1 = second >> 16;
                if (pair) {
                    v0 = (int8_t)(v0 & 0xff), v1 = (int8_t)(v1 & 0xff);
                }
                sum[0][i] += (uint32_t)(x0 * v0) + (uint32_t)(x1 * v1);
                sum[1][i] += (uint32_t)(x0 * u0) + (uint32_t)(x1 * u1);
            }
        }
    } while (more);
    const int32_t shifts = pair ? stream[1 + once] : s | s << 8;
    for (int32_t c = 0; c < 2; c++) {
        const int32_t half = pair && c == 0; /* the channel whose sum is not scaled */
        const int32_t used = half ? 2 + once : 2 + linear, shift = shifts >> 8 * c & 31;
        for (int32_t i = 0; i < pixels; i++) {
            int32_t y = (int32_t)sum[c][i];
            if (half) {
                y = (int32_t)(((int64_t)y * (stream[0] + ((int64_t)1 << 32)) + ((int64_t)1 << 31)) >> 32);
                y += linear ? y >> 31 : 0;
                y = once ? (y + stream[1]) >> shift : ((y >> shift) + (shifts >> 16)) >> 1;
            } else {
                y = (int32_t)(sum[c][i] - (pair ? sum[0][i] : 0));
                y = mote_gemm3_scale(y, linear, &stream) >> shift;
            }
            byte[c][i] = y < lo ? lo : y > hi ? hi : y;
        }
        stream += used;
    }
    *next = stream;
}

/* What the assembly does. */
static inline const int32_t *mote_gemm3_c(const uint32_t *inputs, const int32_t *stream, mote_gemm3_tail_t *tail,
                                          int32_t depth, int32_t weights, int32_t block, int32_t out, int32_t s) {
    const int32_t planar = out == mote_gemm3_planar;
    for (;;) {
        int32_t byte[2][MOTE_GEMM3_MOST];
        mote_gemm3_two(inputs, 3, &stream, NULL, block ? block : depth / 2, weights, block, out, s, byte);
        for (int32_t i = 0; i < 3; i++) {
            if (block) {
                tail->to[i][stream[1]] = (int8_t)(byte[1][i] & 0xff);
                tail->to[i][stream[0]] = (int8_t)(byte[0][i] & 0xff);
            } else if (planar) {
                tail->to[i][tail->offset] = (int8_t)(uint8_t)byte[0][i];
                tail->to[i][tail->offset + tail->step] = (int8_t)(uint8_t)byte[1][i];
            } else {
                tail->to[i][0] = (int8_t)byte[0][i];
                tail->to[i][1] = (int8_t)byte[1][i];
                tail->to[i] += 2;
            }
        }
        stream += block ? 2 : 0;
        tail->offset += 2 * tail->step;
        if (tail->offset == tail->limit) {
            return stream;
        }
    }
}

#define MOTE_GEMM3_FUNCTION(name, weights, blocks, out, s) \
    MOTE_UNUSED static inline const int32_t *name(const uint32_t *inputs, const int32_t *stream, mote_gemm3_tail_t *tail, \
                                      int32_t depth) { \
        return mote_gemm3_c(inputs, stream, tail, depth, mote_gemm3_##weights, MOTE_GEMM3_WORDS_##blocks, \
                            mote_gemm3_##out, s); \
    }

static inline uint32_t *mote_widen3(const int8_t *a, const int8_t *b, const int8_t *c, uint32_t *to, int32_t words) {
    const int8_t *const from[3] = {a, b, c};
    for (int32_t k = 0; k < 4 * words; k += 4, to += 6) {
        for (int32_t i = 0; i < 6; i++) {
            const int8_t *const x = from[i % 3] + k + i / 3;
            to[i] = (uint32_t)(uint16_t)x[0] | (uint32_t)(uint16_t)x[2] << 16;
        }
    }
    return to;
}

static inline uint32_t *mote_widen3_rows(const int8_t *const *rows, int32_t offset, int32_t step, uint32_t *to,
                                         int32_t taps, int32_t words, const int8_t *padding) {
    for (int32_t k = 0; k < taps; k++) {
        const int8_t *const from = rows[k] ? rows[k] + offset : padding;
        const int32_t next = rows[k] ? step : 0;
        to = mote_widen3(from, from + next, from + 2 * next, to, words);
    }
    return to;
}
#endif

/* Words of a block's inputs of each pixel, where there are blocks. */
#define MOTE_GEMM3_WORDS_all 0
#define MOTE_GEMM3_WORDS_sparse2 1
#define MOTE_GEMM3_WORDS_sparse4 2

/* The assembly finds the tail behind the inputs; elsewhere, where it may be larger, it lies on the stack. */
#define MOTE_GEMM3_TAIL_WORDS 7
#if MOTE_DSP
#define MOTE_GEMM3_TAIL(name, at) mote_gemm3_tail_t *const name = (mote_gemm3_tail_t *)(void *)(at)
#else
#define MOTE_GEMM3_TAIL(name, at) mote_gemm3_tail_t name##_here, *const name = &name##_here
#endif

typedef const int32_t *mote_gemm3_block_t(const uint32_t *, const int32_t *, mote_gemm3_tail_t *, int32_t);

/* Where a planar row keeps padded column x: see mote_planar_s8.h. */
static inline int32_t mote_planar_place(int32_t x) { return (x & ~3) | (x & 1) << 1 | (x >> 1 & 1); }

/* The three pixels against every channel. The outputs of an odd last channel's partner go nowhere; where channels are
 * scattered they go where its own do. */
MOTE_ALWAYS_INLINE void mote_gemm3_channels(const mote_gemm3_t *g, mote_gemm3_block_t *block, int32_t back,
                                            int32_t planar, int32_t sparse, uint32_t *inputs, mote_gemm3_tail_t *tail,
                                            int8_t *const *to) {
    const int32_t even = (g->channels + sparse) & ~1, step = planar ? g->planes : 1;
    const int32_t *stream = g->stream + sparse;
    tail->to[0] = to[0], tail->to[1] = to[1], tail->to[2] = to[2];
    tail->offset = 0;
    tail->step = step;
    tail->inputs = inputs;
    if (even > 0) {
#if MOTE_DSP
        tail->limit = sparse   ? (int32_t)(intptr_t)(stream + *g->stream)
                      : planar ? even * step
                               : (int32_t)(intptr_t)(to[0] + even);
#else
        tail->limit = even * step;
#endif
        stream = block(inputs, stream, tail, back);
    }
    if (even < g->channels) {
        int8_t last[6];
        for (int32_t i = 0; i < 3; i++) {
            tail->to[i] = last + 2 * i;
        }
        tail->offset = 0;
        tail->step = 1;
#if MOTE_DSP
        tail->limit = planar ? 2 : (int32_t)(intptr_t)(last + 2);
#else
        tail->limit = 2;
#endif
        (void)block(inputs, stream, tail, back);
        for (int32_t i = 0; i < 3; i++) {
            to[i][even * step] = last[2 * i];
        }
    }
}

typedef struct {
    int32_t width, in_channels;    /* pixels of a row; a multiple of four channels */
    int32_t in_stride, out_stride; /* bytes of a row */
    mote_gemm3_t gemm;
} mote_pointwise3_t;

/* How far a 1x1 convolution is computed. */
typedef struct {
    const mote_pointwise3_t *p;
    const int8_t *in;
    int8_t *out;
    const int8_t *const *rows; /* rows lie one after another, or where these say */
    int8_t *const *outs;
    int32_t pixels, x; /* pixels that are left; where in its row the next one is */
    int32_t planar, sparse;
    uint32_t *inputs;
    const int32_t *stream;
    mote_gemm3_tail_t *tail;
    int8_t *to[3];
    int8_t last[6]; /* of an odd last channel and its partner */
    int32_t odd;    /* whether these are next, or are done */
} mote_pointwise3_walk_t;

enum { mote_gemm3_odd_next = 1, mote_gemm3_odd_done };

/* The next three pixels; where there are fewer the last one is computed again. */
static inline void mote_pointwise3_three(mote_pointwise3_walk_t *w, const int8_t **from) {
    const mote_pointwise3_t *const p = w->p;
    const int32_t planar = w->planar, channels = p->in_channels, pixel = p->gemm.pixel, before = p->gemm.before;
    const int32_t width = planar || w->rows != NULL ? p->width : INT32_MAX;
    const int8_t *in = w->in;
    int8_t *out = w->out;
    int32_t x = w->x, pixels = w->pixels;
    for (int32_t i = 0; i < 3; i++) {
        from[i] = in;
        w->to[i] = planar ? out + mote_planar_place(x + before) : out;
        if (pixels > 1) {
            pixels--;
            in += channels;
            out += planar ? 0 : pixel;
            if (++x == width) {
                x = 0;
                in = w->rows != NULL ? *++w->rows : in;
                out = w->rows != NULL ? *++w->outs : planar ? out + p->out_stride : out;
                if (planar) {
                    mote_clear(out, p->gemm.channels * p->gemm.planes);
                }
            }
        } else {
            pixels = i < 2 ? 1 : 0;
        }
    }
    w->in = in;
    w->out = out;
    w->x = x;
    w->pixels = pixels;
}

/* Whether there is more to compute: the next three pixels against all pairs of channels, or, behind these, against an
 * odd last channel. The outputs of its partner go nowhere; where channels are scattered they go where its own do. */
MOTE_NOINLINE int32_t mote_pointwise3_next(mote_pointwise3_walk_t *w) {
    const mote_gemm3_t *const g = &w->p->gemm;
    const int32_t even = (g->channels + w->sparse) & ~1, step = w->planar ? g->planes : 1;
    mote_gemm3_tail_t *const tail = w->tail;
    if (w->odd == mote_gemm3_odd_done) {
        for (int32_t i = 0; i < 3; i++) {
            w->to[i][even * step] = w->last[2 * i];
        }
    }
    if (w->odd != mote_gemm3_odd_next) {
        const int8_t *from[3];
        if (w->pixels == 0) {
            return 0;
        }
        mote_pointwise3_three(w, from);
        mote_widen3(from[0], from[1], from[2], w->inputs, w->p->in_channels / 4);
        w->stream = g->stream + w->sparse;
        w->odd = even < g->channels ? mote_gemm3_odd_next : 0;
    }
    tail->offset = 0;
    tail->inputs = w->inputs;
    if (even == 0 || (w->odd == mote_gemm3_odd_next && w->stream != g->stream + w->sparse)) {
        w->odd = mote_gemm3_odd_done;
        for (int32_t i = 0; i < 3; i++) {
            tail->to[i] = w->last + 2 * i;
        }
        tail->step = 1;
#if MOTE_DSP
        tail->limit = w->planar ? 2 : (int32_t)(intptr_t)(w->last + 2);
#else
        tail->limit = 2;
#endif
        return 1;
    }
    for (int32_t i = 0; i < 3; i++) {
        tail->to[i] = w->to[i];
    }
    tail->step = step;
#if MOTE_DSP
    tail->limit = w->sparse   ? (int32_t)(intptr_t)(w->stream + *g->stream)
                  : w->planar ? even * step
                              : (int32_t)(intptr_t)(w->to[0] + even);
#else
    tail->limit = even * step;
#endif
    return 1;
}

/* A 1x1 convolution of `pixels` pixels. Rows lie one after another, or where `rows` and `outs` say. */
MOTE_ALWAYS_INLINE void mote_pointwise3(const mote_pointwise3_t *p, mote_gemm3_block_t *block, int32_t back,
                                        int32_t planar, int32_t sparse, const int8_t *in, int8_t *out,
                                        const int8_t *const *rows, int8_t *const *outs, int32_t pixels,
                                        uint32_t *scratch) {
    MOTE_GEMM3_TAIL(tail, scratch + 3 * (p->gemm.depth / 2));
    mote_pointwise3_walk_t walk;
    walk.p = p;
    walk.in = in;
    walk.out = out;
    walk.rows = rows;
    walk.outs = outs;
    walk.pixels = pixels;
    walk.x = 0;
    walk.planar = planar;
    walk.sparse = sparse;
    walk.inputs = scratch;
    walk.tail = tail;
    walk.odd = 0;
    if (planar) {
        mote_clear(out, p->gemm.channels * p->gemm.planes);
    }
    while (mote_pointwise3_next(&walk)) {
        walk.stream = block(scratch, walk.stream, tail, back);
    }
}

/* Any window. The widened inputs of a pixel are first the whole words of each row of its window, then what is left of
 * each row. Scratch: the widened inputs and the tail; three times the leftovers; a line of padding; a window. */
typedef struct {
    mote_patch_t patch;
    mote_gemm3_t gemm;
} mote_conv3_t;

/* One pixel's share of the widened inputs. */
static inline void mote_widen1(const int8_t *from, int32_t words, uint32_t *to) {
    for (; words > 0; words--, from += 4, to += 6) {
#if MOTE_DSP
        const uint32_t word = mote_load4(from);
        to[0] = mote_sxtb16(word);
        to[3] = mote_sxtb16_ror8(word);
#else
        to[0] = (uint32_t)(uint16_t)from[0] | (uint32_t)(uint16_t)from[2] << 16;
        to[3] = (uint32_t)(uint16_t)from[1] | (uint32_t)(uint16_t)from[3] << 16;
#endif
    }
}

/* What every pixel of a layer has in common. */
typedef struct {
    int32_t line, words, leftover; /* bytes of a row of the window, its whole words; leftovers of a window, padded */
    int8_t *more;                  /* the leftovers of three pixels */
    const int8_t *padding;
} mote_conv3_shape_t;

/* The widened inputs of the pixel at output column x, the first, second or third of its block. */
MOTE_NOINLINE void mote_conv3_one(const mote_conv3_t *p, const mote_conv3_shape_t *f, const int8_t *const *rows,
                                  int32_t x, int32_t which, uint32_t *inputs) {
    const mote_patch_t *const w = &p->patch;
    const mote_span_t *const s = &w->cols;
    const int32_t first = x * s->step - s->pad, taps = w->rows.taps;
    const int32_t inside = first >= 0 && first + s->taps <= s->in_size && s->spread == 1;
    int8_t *const window = (int8_t *)(intptr_t)f->padding + ((f->line + 3) & ~3);
    int8_t *left = f->more + which * f->leftover;
    uint32_t *to = inputs + which;
    if (!inside) {
        mote_gather(w, rows, x, window);
    }
    for (int32_t k = 0; k < taps; k++, to += 6 * f->words) {
        const int8_t *const row = rows[k];
        const int8_t *const from = !inside ? window + k * f->line : row ? row + first * w->in_channels : f->padding;
        mote_widen1(from, f->words, to);
        for (int32_t i = 4 * f->words; i < f->line; i++) {
            *left++ = from[i];
        }
    }
}

/* Those of three neighbours whose windows lie inside the image; whether with what is left of the rows. */
MOTE_NOINLINE int32_t mote_conv3_three(const mote_conv3_t *p, const mote_conv3_shape_t *f, const int8_t *const *rows,
                                       int32_t x, uint32_t *inputs) {
    const mote_patch_t *const w = &p->patch;
    const int32_t a = (x * w->cols.step - w->cols.pad) * w->in_channels, step = w->cols.step * w->in_channels;
    const int32_t leftover = f->leftover, words = f->words, line = f->line, taps = w->rows.taps;
    int8_t *left = f->more;
    if (words > 0) {
        inputs = mote_widen3_rows(rows, a, step, inputs, taps, words, f->padding);
    }
    if (taps == 3 && line == 4 * words + 1) { /* one byte of each row: 3x3 windows of one or three channels, say */
        const int8_t *from[3];
        int32_t next[3];
        for (int32_t k = 0; k < 3; k++) {
            from[k] = (rows[k] ? rows[k] + a : f->padding) + 4 * words;
            next[k] = rows[k] ? step : 0;
        }
        for (int32_t i = 0; i < 3; i++, from[0] += next[0], from[1] += next[1], from[2] += next[2]) {
            inputs[i] = (uint32_t)(uint16_t)*from[0] | (uint32_t)*from[2] << 16;
            inputs[i + 3] = (uint32_t)(uint16_t)*from[1];
        }
        return 1;
    }
    for (int32_t k = 0; leftover > 0 && k < taps; k++) {
        const int32_t next = rows[k] ? step : 0;
        const int8_t *const from = rows[k] ? rows[k] + a : f->padding;
        for (int32_t i = 4 * words; i < line; i++, left++) {
            left[0] = from[i];
            left[leftover] = from[i + next];
            left[2 * leftover] = from[i + 2 * next];
        }
    }
    return leftover == 0;
}

/* `pixels` pixels of output rows. Their first row is made from `rows`; the next ones from `step` rows further on and
 * written to where `outs` says, or, for a tensor in one piece, from those under row y + 1 and so on of the tensor `in`
 * and written behind one another. */
MOTE_ALWAYS_INLINE void mote_conv3(const mote_conv3_t *p, mote_gemm3_block_t *block, int32_t back, int32_t planar,
                                   int32_t sparse, const int8_t *in, const int8_t **rows, int8_t *const *outs,
                                   int32_t y, int32_t pixels, int8_t *out, uint32_t *scratch) {
    const mote_gemm3_t *const g = &p->gemm;
    const mote_patch_t *const w = &p->patch;
    const mote_span_t *const s = &w->cols;
    const int32_t width = s->out_size, row_bytes = w->rows.out_stride, plane_bytes = g->channels * g->planes;
    MOTE_GEMM3_TAIL(tail, scratch + 3 * (g->depth / 2));
    mote_conv3_shape_t f;
    int32_t x = 0;
    f.line = s->taps * w->in_channels;
    f.words = f.line / 4;
    f.leftover = (w->rows.taps * (f.line % 4) + 3) & ~3;
    f.more = (int8_t *)(scratch + 3 * (g->depth / 2) + MOTE_GEMM3_TAIL_WORDS);
    f.padding = f.more + 3 * f.leftover;
    memset(f.more, 0, (size_t)(3 * f.leftover));
    memset(f.more + 3 * f.leftover, (int)w->in_zero, (size_t)f.line);
    if (planar) {
        mote_clear(out, plane_bytes);
    }
    while (pixels > 0) {
        const int32_t first = x * s->step - s->pad, end = first + 2 * s->step + s->taps;
        const int32_t three = x + 3 < width && first >= 0 && end <= s->in_size && s->spread == 1;
        int32_t done = f.leftover == 0;
        int8_t *to[3];
        if (three) {
            done = mote_conv3_three(p, &f, rows, x, scratch);
            for (int32_t i = 0; i < 3; i++, x++) {
                to[i] = out + (planar ? mote_planar_place(x + g->before) : x * g->pixel);
            }
            pixels -= 3;
        }
        for (int32_t i = 0; !three && i < 3; i++) { /* where there are fewer the last one is computed again */
            to[i] = out + (planar ? mote_planar_place(x + g->before) : x * g->pixel);
            mote_conv3_one(p, &f, rows, x, i, scratch);
            if (pixels > 1) {
                pixels--;
                if (++x == width) {
                    x = 0;
                    if (outs != NULL) {
                        rows += w->rows.step;
                        out = *++outs;
                    } else {
                        mote_window_s8(&w->rows, in, ++y, rows);
                        out += row_bytes;
                    }
                    if (planar) {
                        mote_clear(out, plane_bytes);
                    }
                }
            } else if (i == 2) {
                pixels = 0;
            }
        }
        if (!done) {
            mote_widen3(f.more, f.more + f.leftover, f.more + 2 * f.leftover,
                        scratch + 6 * w->rows.taps * f.words, f.leftover / 4);
        }
        mote_gemm3_channels(g, block, back, planar, sparse, scratch, tail, to);
    }
}

/* The functions for one form of weights, blocks of them that may be missing, one form of outputs, and a shift. */
#define MOTE_GEMM3_IS_PLANAR_nhwc 0
#define MOTE_GEMM3_IS_PLANAR_linear 0
#define MOTE_GEMM3_IS_PLANAR_planar 1
#define MOTE_GEMM3(weights, out, s) MOTE_GEMM3_(weights, all, out, weights##_##out##_##s, s)
#define MOTE_GEMM3_SPARSE(weights, blocks, out, s) \
    MOTE_GEMM3_(weights, blocks, out, weights##_##blocks##_##out##_##s, s)
#define MOTE_GEMM3_(weights, blocks, out_, id, s) \
    MOTE_GEMM3_FUNCTION(mote_gemm3_##id, weights, blocks, out_, s) \
    typedef mote_pointwise3_t mote_pointwise3_##id##_t; \
    typedef mote_pointwise3_t mote_pointwise3_rows_##id##_t; \
    typedef mote_conv3_t mote_conv3_##id##_t; \
    MOTE_NOINLINE void mote_pointwise3_##id##_all(const mote_pointwise3_t *p, const int8_t *in, int8_t *out, \
                                                  const int8_t *const *rows, int8_t *const *outs, int32_t pixels, \
                                                  uint32_t *scratch) { \
        mote_pointwise3(p, mote_gemm3_##id, MOTE_GEMM3_BACK_##weights(p->gemm.depth), MOTE_GEMM3_IS_PLANAR_##out_, \
                        MOTE_GEMM3_WORDS_##blocks > 0, in, out, rows, outs, pixels, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise3_##id(const mote_pointwise3_t *p, const int8_t *in, int8_t *out, \
                                            int32_t pixels, uint32_t *scratch) { \
        mote_pointwise3_##id##_all(p, in, out, NULL, NULL, pixels, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise3_rows_##id(const mote_pointwise3_t *p, const int8_t *in, int8_t *out, \
                                                 int32_t lo, int32_t hi, uint32_t *scratch) { \
        mote_pointwise3_##id##_all(p, in + lo * p->in_stride, out + lo * p->out_stride, NULL, NULL, \
                                   (hi - lo) * p->width, scratch); \
    } \
    MOTE_UNUSED static inline void mote_pointwise3_##id##_rows(const mote_pointwise3_t *p, const int8_t *const *rows, \
                                                   int8_t *const *outs, int32_t count, uint32_t *scratch) { \
        mote_pointwise3_##id##_all(p, rows[0], outs[0], rows, outs, count * p->width, scratch); \
    } \
    MOTE_NOINLINE void mote_conv3_##id##_all(const mote_conv3_t *p, const int8_t *in, const int8_t **rows, \
                                             int8_t *const *outs, int32_t y, int32_t pixels, int8_t *out, \
                                             uint32_t *scratch) { \
        mote_conv3(p, mote_gemm3_##id, MOTE_GEMM3_BACK_##weights(p->gemm.depth), MOTE_GEMM3_IS_PLANAR_##out_, \
                   MOTE_GEMM3_WORDS_##blocks > 0, in, rows, outs, y, pixels, out, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv3_##id##_rows(const mote_conv3_t *p, const int8_t **rows, int8_t *const *outs, \
                                              int32_t count, uint32_t *scratch) { \
        mote_conv3_##id##_all(p, NULL, rows, outs, 0, count * p->patch.cols.out_size, outs[0], scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv3_##id##_row(const mote_conv3_t *p, const int8_t **rows, int8_t *out, \
                                             uint32_t *scratch) { \
        mote_conv3_##id##_all(p, NULL, rows, NULL, 0, p->patch.cols.out_size, out, scratch); \
    } \
    MOTE_UNUSED static inline void mote_conv3_##id(const mote_conv3_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi, \
                                       uint32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        mote_window_s8(&p->patch.rows, in, lo, rows); \
        mote_conv3_##id##_all(p, in, rows, NULL, lo, (hi - lo) * p->patch.cols.out_size, \
                              out + lo * p->patch.rows.out_stride, scratch); \
    }

#endif
