/* mote_depthwise_column_s8.h: int8 depthwise convolution of rows of one pixel, windows one wide, no padding, for cores
 * with DSP instructions: an output row from rows wherever they lie.
 *
 * Four channels at a time, two rows at a time: two words of four bytes become a register for each channel, with its
 * values in both rows, and SMLAD multiplies it with two weights. A record has the biases of four channels, their weights
 * for each two rows and for the last one of an odd number, and the constants that turn sums into bytes. Weights:
 *
 *   narrow  8 bits, a word for two channels, the second in the odd bytes: 18 instructions for 8 products. Sums are
 *           rescaled step by step, by a multiplier and a shift for each channel.
 *   wide    16 bits, scaled, a word for each channel: 14 instructions. Sums become bytes by the constants of the
 *           compiler's pack/narrow.py; the shift is built into the code, hence the macro.
 *
 * The last four channels may repeat some of those before. Outputs are clamped to all of int8 only, shifts are to the
 * right.
 */
#ifndef MOTE_DEPTHWISE_COLUMN_S8_H
#define MOTE_DEPTHWISE_COLUMN_S8_H

#include "mote_narrow_s8.h"

typedef struct {
    mote_window_t rows; /* at least two */
    int32_t channels;   /* at least four */
    int32_t record;     /* words of a record */
    int32_t zero;       /* narrow: twice the output's zero point and one more, which rounds */
    const int32_t *records;
} mote_depthwise_column_t, mote_depthwise_column_s8_t;

/* Channels `first`.. up to `stop`, a multiple of four of them. */
typedef struct {
    const int8_t *const *rows, *const *last;
    int8_t *out;
    int32_t stop, zero;
    int32_t skip; /* pairs of rows that are missing to a multiple of four */
    const int32_t *record;
    int32_t first;
} mote_column_run_t;

typedef void mote_column_code_t(const mote_column_run_t *run);

#if MOTE_DSP
/* r0-r3: sums. r8: the next row pointers, r9: the record, r10: the channel. Leaves channels 0 and 1 of two rows in r6,
 * channels 2 and 3 in r4. */
#define MOTE_COLUMN_TWO_ROWS \
    "ldrd r4, r5, [r8], #8\n\t" \
    "ldr r4, [r4, r10]\n\t" \
    "ldr r5, [r5, r10]\n\t" \
    "pkhbt r6, r4, r5, lsl #16\n\t" \
    "pkhtb r4, r5, r4, asr #16\n\t"

/* Two channels of two rows. */
#define MOTE_COLUMN_MULTIPLY(x, w0, w1, a, b) \
    "sxtb16 r5, " x "\n\t" \
    "sxtb16 " x ", " x ", ror #8\n\t" \
    "smlad " a ", r5, " w0 ", " a "\n\t" \
    "smlad " b ", " x ", " w1 ", " b "\n\t"

#define MOTE_COLUMN_WIDEN(from, even, odd) \
    "sxtb16 " even ", " from "\n\t" \
    "sxtb16 " odd ", " from ", ror #8\n\t"

#define MOTE_COLUMN_PAIR_wide \
    MOTE_COLUMN_TWO_ROWS \
    "ldm r9!, {r7, r11, r12, lr}\n\t" MOTE_COLUMN_MULTIPLY("r6", "r7", "r11", "r0", "r1") \
        MOTE_COLUMN_MULTIPLY("r4", "r12", "lr", "r2", "r3")

#define MOTE_COLUMN_PAIR_narrow \
    MOTE_COLUMN_TWO_ROWS \
    "ldm r9!, {r11, lr}\n\t" MOTE_COLUMN_WIDEN("r11", "r7", "r11") MOTE_COLUMN_MULTIPLY("r6", "r7", "r11", "r0", "r1") \
        MOTE_COLUMN_WIDEN("lr", "r12", "lr") MOTE_COLUMN_MULTIPLY("r4", "r12", "lr", "r2", "r3")

/* One row: the weights of channels 0 and 2 in r6, of 1 and 3 in r7. */
#define MOTE_COLUMN_ONE_wide "ldm r9!, {r6, r7}\n\t"
#define MOTE_COLUMN_ONE_narrow "ldr r5, [r9], #4\n\t" MOTE_COLUMN_WIDEN("r5", "r6", "r7")
#define MOTE_COLUMN_ONE(weights) \
    "ldr r4, [r8]\n\t" \
    "ldr r5, [r4, r10]\n\t" MOTE_COLUMN_WIDEN("r5", "r4", "r11") MOTE_COLUMN_ONE_##weights \
    "smlabb r0, r4, r6, r0\n\t" \
    "smlabb r1, r11, r7, r1\n\t" \
    "smlatt r2, r4, r6, r2\n\t" \
    "smlatt r3, r11, r7, r3\n\t"

/* The sums of two channels as bytes. */
#define MOTE_COLUMN_BYTES_relu(a, b, s) MOTE_NARROW_relu(a, b, s)
#define MOTE_COLUMN_BYTES_linear(a, b, s) MOTE_NARROW_linear(a, b, s)
#define MOTE_COLUMN_BYTES_twice(a, b, s) \
    "ldm r9!, {r4-r7}\n\t" \
    "ldr lr, [sp, #16]\n\t" /* zero */ \
    MOTE_NARROW_TWICE(a, "r4", "r5") MOTE_NARROW_TWICE(b, "r6", "r7")

/* Four pairs of rows to a loop, which begins with the pair that makes it end with the last one. The run is kept on the
 * stack, up to the record. */
#define MOTE_COLUMN_CODE(name, weights, form, s) \
    __attribute__((naked, noinline, unused)) static void name(const mote_column_run_t *run __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n\t" \
            "ldm r0, {r3-r10}\n\t" \
            "push {r3-r8}\n" \
            "1:\n\t" \
            "ldr r8, [sp]\n\t"      /* rows */ \
            "ldr r4, [sp, #20]\n\t" /* skip */ \
            "ldm r9!, {r0-r3}\n\t" \
            "tbb [pc, r4]\n" \
            "2:\n\t" \
            ".byte (3f - 2b) / 2, (4f - 2b) / 2, (5f - 2b) / 2, (6f - 2b) / 2\n" \
            "3:\n\t" MOTE_COLUMN_PAIR_##weights "4:\n\t" MOTE_COLUMN_PAIR_##weights \
            "5:\n\t" MOTE_COLUMN_PAIR_##weights "6:\n\t" MOTE_COLUMN_PAIR_##weights \
            "ldr r4, [sp, #4]\n\t" /* last */ \
            "cmp r8, r4\n\t" \
            "blo 3b\n\t" \
            "bne 7f\n\t" MOTE_COLUMN_ONE(weights) \
            "7:\n\t" MOTE_COLUMN_BYTES_##form("r0", "r1", s) MOTE_COLUMN_BYTES_##form("r2", "r3", s) \
            "ldrd r4, r5, [sp, #8]\n\t" /* out, stop */ \
            "add r4, r4, r10\n\t" \
            "add r10, r10, #4\n\t" \
            "cmp r10, r5\n\t" \
            "strb r0, [r4]\n\t" \
            "strb r1, [r4, #1]\n\t" \
            "strb r2, [r4, #2]\n\t" \
            "strb r3, [r4, #3]\n\t" \
            "bne 1b\n\t" \
            "add sp, sp, #24\n\t" \
            "pop {r4-r11, pc}\n\t"); \
    }
#define MOTE_COLUMN_FUNCTION(name, weights, form, s) MOTE_COLUMN_CODE(name, weights, form, MOTE_NARROW_STRING(s))
#define MOTE_COLUMN_TEXT(name, form, s, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void name( \
        const mote_column_run_t *run __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#else
enum { mote_column_narrow, mote_column_wide, mote_column_relu = 2, mote_column_linear, mote_column_twice = 2 };

/* The weight of row k for channel i of four, of which `taps` rows have weights. */
static inline int32_t mote_column_weight(const int32_t *words, int32_t taps, int32_t k, int32_t i, int32_t wide) {
    const int32_t pair = k / 2 * (wide ? 4 : 2), alone = k == taps - 1 && k % 2 == 0;
    const int32_t half = alone ? i / 2 : k % 2, word = alone ? i % 2 : i;
    if (wide) {
        return (int16_t)(uint16_t)((uint32_t)words[pair + word] >> 16 * half & 0xffff);
    }
    return (int8_t)(uint8_t)((uint32_t)words[pair + word / 2] >> (16 * half + 8 * (word % 2)) & 0xff);
}

static inline void mote_column_c(const mote_column_run_t *run, int32_t wide, int32_t form, int32_t s) {
    const int32_t taps = (int32_t)(run->last - run->rows) + 1, words = (wide ? 2 : 1) * taps;
    const int32_t *record = run->record;
    for (int32_t c = run->first; c < run->stop; c += 4, record += 4 + words + 4 * form) {
        for (int32_t i = 0; i < 4; i++) {
            uint32_t sum = (uint32_t)record[i];
            for (int32_t k = 0; k < taps; k++) {
                sum += (uint32_t)(run->rows[k][c + i] * mote_column_weight(record + 4, taps, k, i, wide));
            }
            const int32_t *const q = record + 4 + words + i * form;
            run->out[c + i] = wide ? mote_narrow((int32_t)sum, q, form == mote_column_linear, s)
                                   : mote_narrow_twice((int32_t)sum, q, run->zero);
        }
    }
}

#define MOTE_COLUMN_FUNCTION(name, weights, form, s) \
    static inline void name(const mote_column_run_t *run) { \
        mote_column_c(run, mote_column_##weights, mote_column_##form, s); \
    }
#define MOTE_COLUMN_TEXT(name, form, s, text) MOTE_COLUMN_FUNCTION(name, wide, form, s)
#endif

MOTE_ALWAYS_INLINE void mote_column_row(const mote_depthwise_column_t *p, const int8_t *const *rows, int8_t *out,
                                        mote_column_code_t *code) {
    const int32_t taps = p->rows.taps, fours = p->channels & ~3;
    mote_column_run_t run = {rows, rows + taps - 1, out, fours, p->zero, -(taps / 2) & 3, p->records, 0};
    code(&run);
    if (p->channels > fours) {
        run.record += fours / 4 * p->record;
        run.first = p->channels - 4;
        run.stop = p->channels;
        code(&run);
    }
}

#define MOTE_COLUMN_KERNEL(name, code) \
    MOTE_NOINLINE void name##_row(const mote_depthwise_column_t *p, const int8_t *const *rows, int8_t *out) { \
        mote_column_row(p, rows, out, code); \
    } \
\
    MOTE_UNUSED static void name(const mote_depthwise_column_t *p, const int8_t *in, int8_t *out, int32_t lo, \
                                 int32_t hi) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->rows, in, y, rows); \
            name##_row(p, rows, out + y * p->rows.out_stride); \
        } \
    }

MOTE_COLUMN_FUNCTION(mote_column_code, narrow, twice, 0)
MOTE_COLUMN_KERNEL(mote_depthwise_column_s8, mote_column_code)

/* What a model instantiates: the kernel for wide weights, a form of outputs and a shift. */
#define MOTE_DEPTHWISE_COLUMN(form, s) \
    typedef mote_depthwise_column_t mote_depthwise_column_##form##_##s##_t; \
    MOTE_COLUMN_FUNCTION(mote_column_code_##form##_##s, wide, form, s) \
    MOTE_COLUMN_KERNEL(mote_depthwise_column_##form##_##s, mote_column_code_##form##_##s)

/* The same for windows of one height, by code that the compiler wrote for it
 * (armv7em/depthwise/depthwise_column_assembly.py). */
#define MOTE_DEPTHWISE_COLUMN_TAPS(id, height, form, s, text) \
    typedef mote_depthwise_column_t mote_depthwise_column_##id##_t; \
    MOTE_COLUMN_TEXT(mote_column_code_##id, form, s, text) \
    MOTE_COLUMN_KERNEL(mote_depthwise_column_##id, mote_column_code_##id)

#endif
