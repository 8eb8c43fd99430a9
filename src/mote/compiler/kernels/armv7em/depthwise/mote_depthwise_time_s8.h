/* mote_depthwise_time_s8.h: int8 depthwise convolution over time, for cores with DSP instructions: rows of one pixel,
 * windows one wide, no padding, stride 1.
 *
 * Four channels at a time are widened into lines, one for each channel, of 16-bit values two to a word; then each line
 * makes its outputs four at a time. The code for that depends on the window and comes from the compiler
 * (depthwise_time.py). A record is the bias, the weights (w0, w1), (w1, w2), .., then the constants that turn a sum
 * into a byte. Scratch: four lines.
 */
#ifndef MOTE_DEPTHWISE_TIME_S8_H
#define MOTE_DEPTHWISE_TIME_S8_H

#include "mote_planar_s8.h"

typedef struct {
    const int32_t *records;
    int32_t channels; /* at least four */
    int32_t in_rows, out_rows, images;
    int32_t record; /* words of a record */
} mote_depthwise_time_t;

/* All outputs of four channels. */
typedef void mote_time_code_t(const uint32_t *lines, const int32_t *record, int8_t *out, int32_t channels);

#if MOTE_DSP
/* Four rows a step of four channels, `step` bytes apart, into lines of `line` bytes: 23 instructions for 16 values. */
__attribute__((naked, noinline, unused)) static void mote_time_widen(
    const int8_t *in __attribute__((unused)), int32_t step __attribute__((unused)),
    uint32_t *to __attribute__((unused)), int32_t line __attribute__((unused)),
    int32_t steps __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr lr, [sp, #36]\n\t"
                     "add r4, r2, r3\n\t"
                     "add r5, r4, r3\n\t"
                     "add r3, r5, r3\n\t"
                     "add r12, r1, r1, lsl #1\n"
                     "1:\n\t"
                     "ldr r6, [r0]\n\t"
                     "ldr r7, [r0, r1]\n\t"
                     "ldr r8, [r0, r1, lsl #1]\n\t"
                     "ldr r9, [r0, r12]\n\t"
                     "add r0, r0, r1, lsl #2\n\t"
                     "pkhbt r10, r6, r7, lsl #16\n\t" /* channels 0 and 1 of two rows */
                     "pkhbt r11, r8, r9, lsl #16\n\t"
                     "pkhtb r6, r7, r6, asr #16\n\t" /* channels 2 and 3 */
                     "pkhtb r8, r9, r8, asr #16\n\t"
                     "sxtb16 r7, r10\n\t"
                     "sxtb16 r9, r11\n\t"
                     "strd r7, r9, [r2], #8\n\t"
                     "sxtb16 r10, r10, ror #8\n\t"
                     "sxtb16 r11, r11, ror #8\n\t"
                     "strd r10, r11, [r4], #8\n\t"
                     "sxtb16 r7, r6\n\t"
                     "sxtb16 r9, r8\n\t"
                     "strd r7, r9, [r5], #8\n\t"
                     "sxtb16 r6, r6, ror #8\n\t"
                     "sxtb16 r8, r8, ror #8\n\t"
                     "strd r6, r8, [r3], #8\n\t"
                     "subs lr, lr, #1\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}

#define MOTE_TIME_CODE(id, outputs, taps, form, s, text) \
    __attribute__((naked, noinline, unused)) static void mote_##id##_code( \
        const uint32_t *lines __attribute__((unused)), const int32_t *record __attribute__((unused)), \
        int8_t *out __attribute__((unused)), int32_t channels __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#else
static inline void mote_time_widen(const int8_t *in, int32_t step, uint32_t *to, int32_t line, int32_t steps) {
    for (int32_t i = 0; i < 2 * steps; i++, in += 2 * step) {
        for (int32_t c = 0; c < 4; c++) {
            to[c * (line / 4) + i] = (uint32_t)(uint16_t)in[c] | (uint32_t)(uint16_t)in[step + c] << 16;
        }
    }
}

static inline void mote_time_c(const uint32_t *lines, const int32_t *record, int8_t *out, int32_t channels,
                               int32_t outputs, int32_t taps, int32_t linear, int32_t s) {
    const int32_t words = taps > 1 ? taps - 1 : 1;
    for (int32_t c = 0; c < 4; c++, lines += (outputs + taps) / 2, record += 3 + linear + words) {
        for (int32_t y = 0; y < outputs; y++) {
            int32_t sum = record[0];
            for (int32_t j = 0; j < taps; j++) {
                const int32_t x = (int16_t)(uint16_t)(lines[(y + j) / 2] >> 16 * ((y + j) % 2));
                sum = mote_wrapping_add(sum, x * mote_planar_weight(record + 1, j, 0));
            }
            out[y * channels + c] = mote_narrow(sum, record + 1 + words, linear, s);
        }
    }
}

#define MOTE_TIME_CODE(id, outputs, taps, form, s, text) \
    static inline void mote_##id##_code(const uint32_t *lines, const int32_t *record, int8_t *out, int32_t channels) { \
        mote_time_c(lines, record, out, channels, outputs, taps, mote_planar_##form, s); \
    }
#endif

/* The lines of four channels. */
static inline void mote_time_lines(const int8_t *in, int32_t channels, int32_t rows, uint32_t *to) {
    const int32_t line = (rows + 1) / 2, whole = rows / 4;
    if (whole > 0) {
        mote_time_widen(in, channels, to, 4 * line, whole);
    }
    for (int32_t row = 4 * whole; row < rows; row += 2) {
        const int8_t *const first = in + row * channels, *const second = row + 1 < rows ? first + channels : first;
        for (int32_t c = 0; c < 4; c++) {
            to[c * line + row / 2] = (uint32_t)(uint16_t)first[c] | (uint32_t)(uint16_t)second[c] << 16;
        }
    }
}

/* The last four channels may repeat some of those before. Where they do not, the output may be the input: four channels
 * are in scratch before any of their outputs is written. */
MOTE_ALWAYS_INLINE void mote_depthwise_time(const mote_depthwise_time_t *p, const int8_t *in, int8_t *out,
                                            uint32_t *scratch, mote_time_code_t *code) {
    const int32_t channels = p->channels;
    for (int32_t image = 0; image < p->images; image++, in += p->in_rows * channels, out += p->out_rows * channels) {
        for (int32_t c = 0; c < channels; c += 4) {
            const int32_t first = mote_min(c, channels - 4);
            mote_time_lines(in + first, channels, p->in_rows, scratch);
            code(scratch, p->records + first * p->record, out + first, channels);
        }
    }
}

/* What a model instantiates: a kernel for so many outputs, windows of so many taps, a form and a shift. */
#define MOTE_TIME(id, outputs, taps, form, s, text) \
    typedef mote_depthwise_time_t mote_##id##_t; \
    MOTE_TIME_CODE(id, outputs, taps, form, s, text) \
    MOTE_NOINLINE void mote_##id(const mote_depthwise_time_t *p, const int8_t *in, int8_t *out, uint32_t *scratch) { \
        mote_depthwise_time(p, in, out, scratch, mote_##id##_code); \
    }

#endif
