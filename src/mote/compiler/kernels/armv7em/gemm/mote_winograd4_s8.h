/* mote_winograd4_s8.h: 3x3 convolutions in tiles of 4x4 outputs: 36 products instead of 144.
 *
 * The inputs' transform takes (a, b, c, d, e, f) to
 *     4a - 5c + e,  -4b - 4c + d + e,  4b - 4c - d + e,  -2b - c + 2d + e,  2b - c - 2d + e,  4b - 5d + f
 * along columns and rows. It works on bytes 0..255 (128 more than the inputs), whose transforms fit 16 bits, on two at
 * once: hi * 65536 + lo is one number, and sums and multiples of such numbers are right for both; only at the end the
 * low one's sign is taken out of the high one.
 *
 * The inverse transform of sums (a, b, c, d, e, f) in one direction is
 *     a + (b + c) + (d + e),  (b - c) + 2 (d - e),  (b + c) + 4 (d + e),  (b - c) + 8 (d - e) + 4 f
 * with weights that make this 24 times what it should be. The compiler makes sure that multipliers hold the 1 / 576 of
 * both directions well enough.
 *
 * Columns of positions come in the order 1, 0, 2, 3, 4, 5, and positions of a column in the order 1, 2, 0, 3, 4, 5.
 * Kept are the sums b, b + c, b + c + a, d, d + e, f.
 *
 * Scratch, in words: 36 positions' sums of 8 and 2 to spare; 2 * 6 rows of 18 half-transformed inputs, or 2 * 4 rows of
 * 4 * 6 half-transformed sums; a copy of outputs (32); the transformed inputs, 2 + 36 * mote_winograd_stride; then a
 * row of padding.
 */
#ifndef MOTE_WINOGRAD4_S8_H
#define MOTE_WINOGRAD4_S8_H

#include "mote_winograd.h"

enum { MOTE_WINOGRAD4_COLUMNS = 18 };

#if MOTE_DSP
/* The transform of two channels of a column; r4-r9: six rows, r3: 128 | 128 << 16. Where it goes: `first` and `second`
 * for positions 0 and 1, r1 and `at` for the others. 24 instructions. */
#define MOTE_WINOGRAD4_COLUMN(ror, first, second, at) \
    "sxtab16 r0, r3, r8" ror "\n\t" \
    "sxtab16 r10, r3, r6" ror "\n\t" \
    "sxtab16 r11, r3, r4" ror "\n\t" \
    "sub r12, r0, r10\n\t" \
    "sub r11, r11, r10\n\t" \
    "sub r0, r0, r10, lsl #2\n\t" \
    "add r11, r12, r11, lsl #2\n\t" \
    "str r11, " first "\n\t" \
    "sxtab16 r10, r3, r7" ror "\n\t" \
    "sxtab16 r11, r3, r5" ror "\n\t" \
    "sub lr, r10, r11\n\t" \
    "sub r11, r10, r11, lsl #2\n\t" \
    "add r10, r10, lr, lsl #2\n\t" \
    "add r0, r11\n\t" \
    "sub r11, r0, r11, lsl #1\n\t" \
    "add r12, r12, lr, lsl #1\n\t" \
    "sub lr, r12, lr, lsl #2\n\t" \
    "str r0, " second "\n\t" \
    "str r11, [r1, #" at " + 72]\n\t" \
    "str r12, [r1, #" at " + 216]\n\t" \
    "str lr, [r1, #" at " + 288]\n\t" \
    "sxtab16 r0, r3, r9" ror "\n\t" \
    "sub r0, r10\n\t" \
    "str r0, [r1, #" at " + 360]\n\t"

/* Transform `count` columns of four channels, from `offset` bytes on in six rows: [even, odd][6][18] words.
 * 59 instructions a column. */
__attribute__((naked, noinline, unused)) static void mote_winograd4_columns(
    const int8_t *const *rows __attribute__((unused)), uint32_t *to __attribute__((unused)),
    int32_t offset __attribute__((unused)), int32_t count __attribute__((unused)),
    int32_t pixel __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr r10, [sp, #36]\n\t"
                     "mla r11, r3, r10, r2\n\t" /* where columns end */
                     "ldm r0, {r4-r9}\n\t"
                     "mov r3, #0x00800080\n\t"
                     "push {r4-r11}\n"
                     "1:\n\t"
                     "ldm sp, {r4-r9}\n\t"
                     "ldr r4, [r4, r2]\n\t"
                     "ldr r5, [r5, r2]\n\t"
                     "ldr r6, [r6, r2]\n\t"
                     "ldr r7, [r7, r2]\n\t"
                     "ldr r8, [r8, r2]\n\t"
                     "ldr r9, [r9, r2]\n\t" MOTE_WINOGRAD4_COLUMN("", "[r1, #144]", "[r1], #4", "-4")
                         MOTE_WINOGRAD4_COLUMN(", ror #8", "[r1, #572]", "[r1, #428]", "428")
                     "ldrd r10, r11, [sp, #24]\n\t"
                     "add r2, r10\n\t"
                     "cmp r2, r11\n\t"
                     "bne 1b\n\t"
                     "add sp, #32\n\t"
                     "pop {r4-r11, pc}\n\t");
}

/* A row of a tile; a to f: six columns, the last four to be loaded. The results go to r1 (first three) and r3.
 * 0x8000 keeps the low half positive until the end. 27 instructions for six positions. */
#define MOTE_WINOGRAD4_TILE(a, b, c, d, e, f) \
    "ldm r0!, {" c ", " d ", " e ", " f "}\n\t" \
    "add r10, " e ", #0x8000\n\t" \
    "sub r11, r10, " c "\n\t" \
    "sub r10, r10, " c ", lsl #2\n\t" \
    "sub lr, " d ", " b ", lsl #2\n\t" \
    "sub r12, " a ", " c "\n\t" \
    "add r10, lr\n\t" \
    "add r12, r11, r12, lsl #2\n\t" \
    "sub lr, r10, lr, lsl #1\n\t" \
    "eor r10, #0x8000\n\t" \
    "eor r12, #0x8000\n\t" \
    "eor lr, #0x8000\n\t" \
    "str r12, [r1, r2]\n\t" \
    "str lr, [r1, r2, lsl #1]\n\t" \
    "str r10, [r1], #4\n\t" \
    "add r10, " f ", #0x8000\n\t" \
    "sub r12, " d ", " b "\n\t" \
    "sub r10, " d "\n\t" \
    "add r11, r11, r12, lsl #1\n\t" \
    "sub r10, r10, r12, lsl #2\n\t" \
    "sub r12, r11, r12, lsl #2\n\t" \
    "eor r10, #0x8000\n\t" \
    "eor r11, #0x8000\n\t" \
    "eor r12, #0x8000\n\t" \
    "str r12, [r3, r2]\n\t" \
    "str r10, [r3, r2, lsl #1]\n\t" \
    "str r11, [r3], #4\n\t"

/* Transform the columns of two channels along rows: one to four tiles, whose number is in `flags` (equal: 1,
 * carry: 2, minus: 3, none: 4). `stride`: bytes from one position to the next. */
__attribute__((naked, noinline, unused)) static void mote_winograd4_tiles(
    const uint32_t *columns __attribute__((unused)), uint32_t *to __attribute__((unused)),
    int32_t stride __attribute__((unused)), uint32_t flags __attribute__((unused))) {
    __asm__ volatile(
        "push {r4-r11, lr}\n\t"
        "mov r10, r3\n\t"
        "mov lr, r2\n\t"
        "add r11, r0, #432\n\t" /* where the columns end */
        "add r2, r2, r2, lsl #1\n\t"
        "lsl r2, r2, #1\n\t" /* six positions, a column */
        "add r12, r2, r2, lsl #1\n\t"
        "push {r0, r1, r10, r11, r12, lr}\n\t"
        "add r3, r1, r12\n"
        "1:\n\t"
        "ldm r0!, {r4, r5}\n\t"
        "msr apsr_nzcvq, r10\n\t" MOTE_WINOGRAD4_TILE("r4", "r5", "r6", "r7", "r8", "r9")
        "beq 2f\n\t" MOTE_WINOGRAD4_TILE("r8", "r9", "r4", "r5", "r6", "r7")
        "bcs 2f\n\t" MOTE_WINOGRAD4_TILE("r6", "r7", "r4", "r5", "r8", "r9")
        "bmi 2f\n\t" MOTE_WINOGRAD4_TILE("r8", "r9", "r4", "r5", "r6", "r7")
        "2:\n\t"
        "ldm sp, {r0, r1, r10, r11, r12, lr}\n\t"
        "add r0, #72\n\t"
        "add r1, lr\n\t"
        "strd r0, r1, [sp]\n\t"
        "add r3, r1, r12\n\t"
        "cmp r0, r11\n\t"
        "bne 1b\n\t"
        "add sp, #24\n\t"
        "pop {r4-r11, pc}\n\t");
}

/* The inverse transform of a column of two tiles, `x` of two columns; r0: sums, r1: where it goes. 33 instructions for
 * eight results, loads one after another. */
#define MOTE_WINOGRAD4_HALF(x) \
    "ldr r6, [r0, #192 * " #x "]\n\t" /* b */ \
    "ldr r7, [r0, #192 * " #x " + 4]\n\t" \
    "ldr r4, [r0, #192 * " #x " + 32]\n\t" /* b + c */ \
    "ldr r5, [r0, #192 * " #x " + 36]\n\t" \
    "ldr r10, [r0, #192 * " #x " + 96]\n\t" /* d */ \
    "ldr r11, [r0, #192 * " #x " + 100]\n\t" \
    "ldr r8, [r0, #192 * " #x " + 128]\n\t" /* d + e */ \
    "ldr r9, [r0, #192 * " #x " + 132]\n\t" \
    "ldr r12, [r0, #192 * " #x " + 64]\n\t" /* a + b + c */ \
    "ldr lr, [r0, #192 * " #x " + 68]\n\t" \
    "rsb r6, r4, r6, lsl #1\n\t" \
    "rsb r7, r5, r7, lsl #1\n\t" \
    "rsb r10, r8, r10, lsl #1\n\t" \
    "rsb r11, r9, r11, lsl #1\n\t" \
    "add r12, r8\n\t" \
    "add lr, r9\n\t" \
    "str r12, [r1, #4 * " #x "]\n\t" \
    "str lr, [r1, #4 * " #x " + 24]\n\t" \
    "ldrd r12, lr, [r0, #192 * " #x " + 160]\n\t" /* f */ \
    "add r4, r4, r8, lsl #2\n\t" \
    "add r5, r5, r9, lsl #2\n\t" \
    "add r8, r6, r10, lsl #1\n\t" \
    "add r9, r7, r11, lsl #1\n\t" \
    "add r6, r6, r10, lsl #3\n\t" \
    "add r7, r7, r11, lsl #3\n\t" \
    "add r6, r6, r12, lsl #2\n\t" \
    "add r7, r7, lr, lsl #2\n\t" \
    "str r8, [r1, #4 * " #x " + 96]\n\t" \
    "str r9, [r1, #4 * " #x " + 120]\n\t" \
    "str r4, [r1, #4 * " #x " + 192]\n\t" \
    "str r5, [r1, #4 * " #x " + 216]\n\t" \
    "str r6, [r1, #4 * " #x " + 288]\n\t" \
    "str r7, [r1, #4 * " #x " + 312]\n\t"

/* Transform the sums of two channels back along columns, two tiles at a time: [channel][4][tile][6] words. */
__attribute__((naked, noinline, unused)) static void mote_winograd4_half(const uint32_t *sums __attribute__((unused)),
                                                                         uint32_t *to __attribute__((unused)),
                                                                         int32_t pairs __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "mov r3, r2\n\t"
                     "add r12, r1, #768\n\t" /* where the second channel ends */
                     "push {r0, r1, r3, r12}\n"
                     "1:\n\t" /* a channel: r3 pairs of tiles */
                     "add r2, r0, #1152\n"
                     "2:\n\t" MOTE_WINOGRAD4_HALF(0) MOTE_WINOGRAD4_HALF(1)
                     "add r0, #384\n\t"
                     "add r1, #8\n\t"
                     "cmp r0, r2\n\t"
                     "bne 2b\n\t"
                     "subw r0, r0, #1152 - 8\n\t"
                     "add r1, #48 - 24\n\t"
                     "subs r3, #1\n\t"
                     "bne 1b\n\t"
                     "ldm sp, {r0, r1, r3, r12}\n\t"
                     "add r0, #16\n\t"
                     "add r1, #384\n\t"
                     "strd r0, r1, [sp]\n\t"
                     "cmp r1, r12\n\t"
                     "bne 1b\n\t"
                     "add sp, #16\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#else
/* Two values at once as one number. */
static inline void mote_winograd4_six(const uint32_t *x, uint32_t *y) {
    const uint32_t a = x[0], b = x[1], c = x[2], d = x[3], e = x[4], f = x[5];
    y[0] = 4 * a - 5 * c + e;
    y[1] = 0 - 4 * b - 4 * c + d + e;
    y[2] = 4 * b - 4 * c - d + e;
    y[3] = 0 - 2 * b - c + 2 * d + e;
    y[4] = 2 * b - c - 2 * d + e;
    y[5] = 4 * b - 5 * d + f;
}

static inline void mote_winograd4_columns(const int8_t *const *rows, uint32_t *to, int32_t offset, int32_t count,
                                          int32_t pixel) {
    static const int32_t rows_order[6] = {1, 2, 0, 3, 4, 5};
    for (; count > 0; count--, offset += pixel, to++) {
        for (int32_t odd = 0; odd < 2; odd++) {
            uint32_t x[6], y[6];
            for (int32_t i = 0; i < 6; i++) {
                const int8_t *from = rows[i] + offset + odd;
                x[i] = (uint32_t)(from[0] + 128) | (uint32_t)(from[2] + 128) << 16;
            }
            mote_winograd4_six(x, y);
            for (int32_t i = 0; i < 6; i++) {
                to[(6 * odd + i) * MOTE_WINOGRAD4_COLUMNS] = y[rows_order[i]];
            }
        }
    }
}

static inline void mote_winograd4_tiles(const uint32_t *columns, uint32_t *to, int32_t stride, int32_t tiles) {
    static const int32_t columns_order[6] = {1, 0, 2, 3, 4, 5};
    for (int32_t i = 0; i < 6; i++, columns += MOTE_WINOGRAD4_COLUMNS) {
        for (int32_t t = 0; t < tiles; t++) {
            uint32_t y[6];
            mote_winograd4_six(columns + 4 * t, y);
            for (int32_t k = 0; k < 6; k++) {
                to[(6 * k + i) * (stride / 4) + t] = (y[columns_order[k]] + 0x8000u) ^ 0x8000u;
            }
        }
    }
}

static inline void mote_winograd4_four(uint32_t a, uint32_t sum1, uint32_t difference1, uint32_t sum2,
                                       uint32_t difference2, uint32_t f, uint32_t *y) {
    y[0] = a + sum1 + sum2;
    y[1] = difference1 + 2 * difference2;
    y[2] = sum1 + 4 * sum2;
    y[3] = difference1 + 8 * difference2 + 4 * f;
}

static inline void mote_winograd4_half(const uint32_t *sums, uint32_t *to, int32_t pairs) {
    for (int32_t channel = 0; channel < 2; channel++) {
        for (int32_t t = 0; t < 2 * pairs; t++) {
            const uint32_t *m = sums + 4 * channel + t;
            for (int32_t x = 0; x < 6; x++, m += 48) {
                uint32_t y[4];
                mote_winograd4_four(m[16] - m[8], m[8], 2 * m[0] - m[8], m[32], 2 * m[24] - m[32], m[40], y);
                for (int32_t i = 0; i < 4; i++) {
                    to[96 * channel + 24 * i + 6 * t + x] = y[i];
                }
            }
        }
    }
}
#endif

MOTE_WINOGRAD_SMALL void mote_winograd4_start(mote_winograd_work_t *w, const mote_winograd_t *p, uint32_t *scratch) {
    const int32_t inputs = 2 + 36 * mote_winograd_stride(p->in_channels, 2);
    mote_winograd_start(w, p, 4, 36, 12 * MOTE_WINOGRAD4_COLUMNS, inputs, scratch);
    mote_winograd_control(w, 36, 2, NULL, 1 << 1 | 1 << 2 | 1 << 4, 6);
}

/* Columns outside the image: only the first of six positions is not zero. */
MOTE_WINOGRAD_SMALL void mote_winograd4_outside(mote_winograd_work_t *w, int32_t lo, int32_t hi) {
    for (int32_t x = lo; x < hi; x++) {
        for (int32_t k = 0; k < 12; k++) {
            const uint32_t zero = (uint32_t)(w->p->in_zero + 128) * 0x10001u;
            w->columns[x + k * MOTE_WINOGRAD4_COLUMNS] = k % 6 == 0 ? 0 - 6 * zero : 0;
        }
    }
}

/* Columns inside the image whose last words would reach beyond the end of a row. */
MOTE_WINOGRAD_SMALL void mote_winograd4_ragged(mote_winograd_work_t *w, const int8_t *const *rows, uint32_t *to,
                                               int32_t offset, int32_t count) {
    const int32_t pixel = w->p->in_pixel;
    const int8_t *copies[6];
    if (count > 1) {
        mote_winograd4_columns(rows, to, offset, count - 1, pixel);
    }
    mote_winograd_last(w, rows, 6, offset + (count - 1) * pixel, copies);
    mote_winograd4_columns(copies, to + (count - 1), 0, 1, pixel);
}

/* Transform the inputs of a block. */
MOTE_NOINLINE void mote_winograd4_forward(mote_winograd_work_t *w) {
    const int32_t channels = w->p->in_channels, stride = 4 * mote_winograd_stride(channels, 2);
    for (int32_t i = 0; i < w->runs; i++) {
        const mote_winograd_run_t *const r = &w->run[i];
        const int32_t columns = 4 * r->tiles + 2;
        const mote_winograd_across_t a = mote_winograd_across(w, r, columns);
        const int8_t *rows[6];
        uint32_t *const odd = w->columns + 6 * MOTE_WINOGRAD4_COLUMNS;
        mote_winograd_place_t at = mote_winograd_first(channels, 2, w->inputs + r->lane);
        mote_winograd_rows(w, r, 6, rows);
        mote_winograd4_outside(w, 0, a.before);
        mote_winograd4_outside(w, a.before + a.inside, columns);
        for (int32_t c = 0; c < channels; c += 4, mote_winograd_further(&at)) {
            if (a.ragged && c + 4 > w->p->in_pixel) {
                mote_winograd4_ragged(w, rows, w->columns + a.before, a.offset + c, a.inside);
            } else if (a.inside > 0) {
                mote_winograd4_columns(rows, w->columns + a.before, a.offset + c, a.inside, w->p->in_pixel);
            }
            mote_winograd4_tiles(w->columns, at.to, stride, mote_winograd_flags(r->tiles));
            mote_winograd4_tiles(odd, at.to + 4, stride, mote_winograd_flags(r->tiles));
        }
    }
}

#if MOTE_DSP
#define MOTE_WINOGRAD4_SCALE_relu(y) "smmla " y ", " y ", r12, r1\n\t"
#define MOTE_WINOGRAD4_SCALE_linear(y) \
    "bic r9, r2, " y ", asr #31\n\t" \
    "add r9, r1\n\t" \
    "smmla " y ", " y ", r12, r9\n\t"

/* Transform two channels of up to four tiles back along rows and requantize. r0: half-transformed sums, lr: where a row
 * of them ends; r1: add, r2: fix, r3: outputs, r10: pixel, r11: pixel3, r12: mult. 26 instructions for four outputs, 34
 * in linear layers. On the stack: where a row's outputs are, bytes between rows of sums; the channel's end, the next
 * channel's constants, the last channel's end, bytes of a row. */
#define MOTE_WINOGRAD4_INVERSE(name, kind, shift) \
    __attribute__((naked, noinline, unused)) static void mote_##name##_finish( \
        const uint32_t *half __attribute__((unused)), const mote_winograd_channel_t *q __attribute__((unused)), \
        mote_winograd_to_t *to __attribute__((unused)), const uint32_t *end __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n\t" \
            "sub sp, #24\n\t" \
            "ldm r2!, {r10, r11, r12}\n\t" \
            "add r12, r12, r12, lsl #1\n\t" \
            "lsl r12, r12, #4\n\t" \
            "rsb r5, r12, #96\n\t" \
            "strd r3, r12, [sp, #16]\n\t" \
            "str r5, [sp, #4]\n\t" \
            "mov r8, r2\n" \
            "1:\n\t" /* a channel; r1: its constants, r8: where its outputs are */ \
            "ldr lr, [sp, #20]\n\t" \
            "ldm r1!, {r5, r6, r7}\n\t" \
            "mov r12, r5\n\t" \
            "add r9, r0, #384\n\t" \
            "strd r9, r1, [sp, #8]\n\t" \
            "mov r1, r6\n\t" \
            "mov r2, r7\n\t" \
            "add lr, r0\n" \
            "2:\n\t" /* a row */ \
            "ldr r3, [r8], #4\n\t" \
            "str r8, [sp]\n" \
            "3:\n\t" /* a tile */ \
            "ldm r0!, {r4-r9}\n\t" \
            "add r4, r6\n\t" \
            "add r7, r8\n\t" \
            "sub r6, r4, r6, lsl #1\n\t" \
            "sub r8, r7, r8, lsl #1\n\t" \
            "add r5, r4\n\t" \
            "add r4, r4, r7, lsl #2\n\t" \
            "add r5, r7\n\t" \
            "add r7, r6, r8, lsl #1\n\t" \
            "add r6, r6, r8, lsl #3\n\t" \
            "add r6, r6, r9, lsl #2\n\t" \
            MOTE_WINOGRAD4_SCALE_##kind("r5") MOTE_WINOGRAD4_SCALE_##kind("r7") \
            MOTE_WINOGRAD4_SCALE_##kind("r4") MOTE_WINOGRAD4_SCALE_##kind("r6") \
            MOTE_WINOGRAD_SATURATE("r5", shift) MOTE_WINOGRAD_SATURATE("r7", shift) \
            MOTE_WINOGRAD_SATURATE("r4", shift) MOTE_WINOGRAD_SATURATE("r6", shift) \
            "strb r5, [r3]\n\t" \
            "strb r7, [r3, r10]\n\t" \
            "strb r4, [r3, r10, lsl #1]\n\t" \
            "strb r6, [r3, r11]\n\t" \
            "add r3, r3, r10, lsl #2\n\t" \
            "cmp r0, lr\n\t" \
            "bne 3b\n\t" \
            "ldm sp, {r8, r9}\n\t" \
            "ldr r4, [sp, #8]\n\t" \
            "add lr, #96\n\t" \
            "add r0, r9\n\t" \
            "cmp r0, r4\n\t" \
            "bne 2b\n\t" \
            "sub r8, #16\n\t" \
            "ldm r8, {r4-r7}\n\t" /* the next channel is one byte further */ \
            "add r4, #1\n\t" \
            "add r5, #1\n\t" \
            "add r6, #1\n\t" \
            "add r7, #1\n\t" \
            "stm r8, {r4-r7}\n\t" \
            "ldrd r1, r3, [sp, #12]\n\t" \
            "cmp r0, r3\n\t" \
            "bne 1b\n\t" \
            "add sp, #24\n\t" \
            "pop {r4-r11, pc}\n\t"); \
    } \
    static inline void mote_##name##_inverse(const uint32_t *sums, const mote_winograd_channel_t *q, \
                                             mote_winograd_to_t *to, uint32_t *half) { \
        mote_winograd4_half(sums, half, to->pairs); \
        mote_##name##_finish(half, q, to, half + 192); \
    }
#else
#define MOTE_WINOGRAD4_INVERSE(name, kind, shift) \
    static inline void mote_##name##_inverse(const uint32_t *sums, const mote_winograd_channel_t *q, \
                                             mote_winograd_to_t *to, uint32_t *half) { \
        mote_winograd4_half(sums, half, to->pairs); \
        mote_winograd4_finish(half, q, to, shift); \
    }

static inline void mote_winograd4_finish(const uint32_t *half, const mote_winograd_channel_t *q, mote_winograd_to_t *to,
                                         int32_t shift) {
    for (int32_t channel = 0; channel < 2; channel++, q++) {
        for (int32_t i = 0; i < 4; i++, half += 24) {
            for (int32_t t = 0; t < 2 * to->pairs; t++) {
                const uint32_t *h = half + 6 * t;
                uint32_t y[4];
                mote_winograd4_four(h[1], h[0] + h[2], h[0] - h[2], h[3] + h[4], h[3] - h[4], h[5], y);
                for (int32_t x = 0; x < 4; x++) {
                    to->row[i][(4 * t + x) * to->pixel] = mote_winograd_narrow(y[x], q, shift);
                }
            }
            to->row[i]++;
        }
    }
}
#endif

/* The kernel for one way to requantize: `kind` is relu or linear. */
#define MOTE_WINOGRAD4_S8(kind, shift) \
    MOTE_WINOGRAD4_INVERSE(winograd4_s8_##kind##_##shift, kind, shift) \
    MOTE_WINOGRAD_KERNEL(winograd4, winograd4_s8_##kind##_##shift, mote_winograd_products, 4)

#endif
