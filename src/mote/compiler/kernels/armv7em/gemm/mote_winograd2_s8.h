/* mote_winograd2_s8.h: 3x3 convolutions in tiles of 2x2 outputs: 16 products instead of 36.
 *
 * The inputs' transform takes (a, b, c, d) to (a - c, b + c, c - b, b - d), along rows and columns. Weights are scaled
 * by 4, which keeps their transform whole, and that is part of the scale that requantization wants.
 *
 * Rows and columns of positions come in the order 1, 0, 2, 3 and 1, 2, 0, 3. The sums of a row are kept: its second
 * position, that and the third, these and the first, the fourth.
 *
 * Scratch, in words: 16 positions' sums of 8 and 2 to spare; 10 columns of 8; a copy of outputs (8); the transformed
 * inputs, 2 + 16 * mote_winograd_stride; then a row of padding.
 */
#ifndef MOTE_WINOGRAD2_S8_H
#define MOTE_WINOGRAD2_S8_H

#include "mote_winograd.h"

#if MOTE_DSP
/* Transform `count` columns of four channels, from `offset` bytes on in four rows, which come in the order 1, 0, 2, 3:
 * [column][even, odd][4] words. 26 instructions a column. */
__attribute__((naked, noinline, unused)) static void mote_winograd2_columns(
    const int8_t *const *rows __attribute__((unused)), uint32_t *to __attribute__((unused)),
    int32_t offset __attribute__((unused)), int32_t count __attribute__((unused)),
    int32_t pixel __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr lr, [sp, #36]\n"
                     "1:\n\t"
                     "ldm r0, {r4-r7}\n\t"
                     "ldr r4, [r4, r2]\n\t"
                     "ldr r5, [r5, r2]\n\t"
                     "ldr r6, [r6, r2]\n\t"
                     "ldr r7, [r7, r2]\n\t"
                     "sxtb16 r8, r4\n\t" /* even channels */
                     "sxtb16 r9, r5\n\t"
                     "sxtb16 r10, r6\n\t"
                     "sxtb16 r11, r7\n\t"
                     "ssub16 r12, r8, r11\n\t"
                     "ssub16 r11, r10, r8\n\t"
                     "ssub16 r9, r9, r10\n\t"
                     "sadd16 r8, r8, r10\n\t"
                     "stm r1!, {r8, r9, r11, r12}\n\t"
                     "sxtb16 r4, r4, ror #8\n\t" /* odd channels */
                     "sxtb16 r5, r5, ror #8\n\t"
                     "sxtb16 r6, r6, ror #8\n\t"
                     "sxtb16 r7, r7, ror #8\n\t"
                     "ssub16 r12, r4, r7\n\t"
                     "ssub16 r7, r6, r4\n\t"
                     "ssub16 r5, r5, r6\n\t"
                     "sadd16 r4, r4, r6\n\t"
                     "stm r1!, {r4, r5, r7, r12}\n\t"
                     "add r2, lr\n\t"
                     "subs r3, #1\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}

/* Two rows of a tile, from columns a, b (in registers), c and d (at `at`); r1 and r12 are where they go. 18
 * instructions for eight positions. */
#define MOTE_WINOGRAD2_TILE(a0, a1, b0, b1, c0, c1, d0, d1, at) \
    "ldrd " c0 ", " c1 ", [r0, #" at "]\n\t" \
    "ldrd " d0 ", " d1 ", [r0, #" at " + 32]\n\t" \
    "ssub16 lr, " c0 ", " b0 "\n\t" \
    "str lr, [r1, r2]\n\t" \
    "ssub16 lr, " a0 ", " c0 "\n\t" \
    "str lr, [r1, r2, lsl #1]\n\t" \
    "ssub16 lr, " b0 ", " d0 "\n\t" \
    "str lr, [r1, r3]\n\t" \
    "sadd16 lr, " b0 ", " c0 "\n\t" \
    "str lr, [r1], #4\n\t" \
    "ssub16 lr, " c1 ", " b1 "\n\t" \
    "str lr, [r12, r2]\n\t" \
    "ssub16 lr, " a1 ", " c1 "\n\t" \
    "str lr, [r12, r2, lsl #1]\n\t" \
    "ssub16 lr, " b1 ", " d1 "\n\t" \
    "str lr, [r12, r3]\n\t" \
    "sadd16 lr, " b1 ", " c1 "\n\t" \
    "str lr, [r12], #4\n\t"

/* Transform the columns of four channels along rows: one to four tiles, whose number is in `flags` (equal: 1,
 * carry: 2, minus: 3, none: 4). `stride`: bytes from one position to the next. */
__attribute__((naked, noinline, unused)) static void mote_winograd2_tiles(
    const uint32_t *columns __attribute__((unused)), uint32_t *to __attribute__((unused)),
    int32_t stride __attribute__((unused)), uint32_t flags __attribute__((unused))) {
    __asm__ volatile(
        "push {r3-r11, lr}\n\t"
        "lsl r4, r2, #3\n\t"   /* from rows 0 and 1 to rows 2 and 3; then back and on to the odd channels */
        "add lr, r0, #32\n\t" /* where rows end */
        "push {r1, r4, lr}\n\t"
        "add r3, r2, r2, lsl #1\n"
        "1:\n\t"
        "ldr lr, [sp, #12]\n\t"
        "ldrd r4, r5, [r0]\n\t"
        "ldrd r6, r7, [r0, #32]\n\t"
        "add r12, r1, r2, lsl #2\n\t"
        "msr apsr_nzcvq, lr\n\t" MOTE_WINOGRAD2_TILE("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "64")
        "beq 2f\n\t" MOTE_WINOGRAD2_TILE("r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7", "128")
        "bcs 2f\n\t" MOTE_WINOGRAD2_TILE("r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "192")
        "bmi 2f\n\t" MOTE_WINOGRAD2_TILE("r8", "r9", "r10", "r11", "r4", "r5", "r6", "r7", "256")
        "2:\n\t"
        "ldm sp, {r1, r4, lr}\n\t"
        "add r0, #8\n\t"
        "add r1, r4\n\t"
        "rsb r4, r4, #16\n\t"
        "strd r1, r4, [sp]\n\t"
        "cmp r0, lr\n\t"
        "bne 1b\n\t"
        "add sp, #16\n\t"
        "pop {r4-r11, pc}\n\t");
}
#else
static inline void mote_winograd2_columns(const int8_t *const *rows, uint32_t *to, int32_t offset, int32_t count,
                                          int32_t pixel) {
    for (; count > 0; count--, offset += pixel) {
        for (int32_t odd = 0; odd < 2; odd++, to += 4) {
            uint32_t e[4];
            for (int32_t i = 0; i < 4; i++) {
                const int8_t *x = rows[i] + offset + odd;
                e[i] = (uint32_t)(uint16_t)x[0] | (uint32_t)(uint16_t)x[2] << 16;
            }
            to[0] = mote_winograd_add2(e[0], e[2]);
            to[1] = mote_winograd_sub2(e[1], e[2]);
            to[2] = mote_winograd_sub2(e[2], e[0]);
            to[3] = mote_winograd_sub2(e[0], e[3]);
        }
    }
}

static inline void mote_winograd2_tiles(const uint32_t *columns, uint32_t *to, int32_t stride, int32_t tiles) {
    for (int32_t i = 0; i < 8; i++) { /* four rows of even and of odd channels */
        uint32_t *row = to + 4 * (i % 4) * (stride / 4) + i / 4 * 4;
        for (int32_t t = 0; t < tiles; t++, row++) {
            const uint32_t *c = columns + 16 * t + i;
            row[0] = mote_winograd_add2(c[8], c[16]);
            row[stride / 4] = mote_winograd_sub2(c[16], c[8]);
            row[stride / 4 * 2] = mote_winograd_sub2(c[0], c[16]);
            row[stride / 4 * 3] = mote_winograd_sub2(c[8], c[24]);
        }
    }
}
#endif

MOTE_WINOGRAD_SMALL void mote_winograd2_start(mote_winograd_work_t *w, const mote_winograd_t *p, uint32_t *scratch) {
    mote_winograd_start(w, p, 2, 16, 80, 2 + 16 * mote_winograd_stride(p->in_channels, 2), scratch);
    mote_winograd_control(w, 16, 2, NULL, 1 << 1 | 1 << 2, 4);
}

/* Columns outside the image: only the first of four positions is not zero. */
MOTE_WINOGRAD_SMALL void mote_winograd2_outside(mote_winograd_work_t *w, int32_t lo, int32_t hi) {
    for (uint32_t *at = w->columns + 8 * lo; at < w->columns + 8 * hi; at += 4) {
        at[1] = at[2] = at[3] = 0;
        at[0] = (uint32_t)(2 * w->p->in_zero & 0xffff) * 0x10001u;
    }
}

/* Columns inside the image whose last words would reach beyond the end of a row. */
MOTE_WINOGRAD_SMALL void mote_winograd2_ragged(mote_winograd_work_t *w, const int8_t *const *rows, uint32_t *to,
                                               int32_t offset, int32_t count) {
    const int32_t pixel = w->p->in_pixel;
    const int8_t *copies[4];
    if (count > 1) {
        mote_winograd2_columns(rows, to, offset, count - 1, pixel);
    }
    mote_winograd_last(w, rows, 4, offset + (count - 1) * pixel, copies);
    mote_winograd2_columns(copies, to + 8 * (count - 1), 0, 1, pixel);
}

/* Transform the inputs of a block. */
MOTE_NOINLINE void mote_winograd2_forward(mote_winograd_work_t *w) {
    const int32_t channels = w->p->in_channels, stride = 4 * mote_winograd_stride(channels, 2);
    for (int32_t i = 0; i < w->runs; i++) {
        const mote_winograd_run_t *const r = &w->run[i];
        const int32_t columns = 2 * r->tiles + 2;
        const mote_winograd_across_t a = mote_winograd_across(w, r, columns);
        const int8_t *rows[4], *second;
        mote_winograd_place_t at = mote_winograd_first(channels, 2, w->inputs + r->lane);
        mote_winograd_rows(w, r, 4, rows);
        second = rows[1], rows[1] = rows[0], rows[0] = second;
        mote_winograd2_outside(w, 0, a.before);
        mote_winograd2_outside(w, a.before + a.inside, columns);
        for (int32_t c = 0; c < channels; c += 4, mote_winograd_further(&at)) {
            if (a.ragged && c + 4 > w->p->in_pixel) {
                mote_winograd2_ragged(w, rows, w->columns + 8 * a.before, a.offset + c, a.inside);
            } else if (a.inside > 0) {
                mote_winograd2_columns(rows, w->columns + 8 * a.before, a.offset + c, a.inside, w->p->in_pixel);
            }
            mote_winograd2_tiles(w->columns, at.to, stride, mote_winograd_flags(r->tiles));
        }
    }
}

#if MOTE_DSP
/* The inverse transform of two tiles: 48 instructions. */
#define MOTE_WINOGRAD_BACK_winograd2 \
    MOTE_WINOGRAD_LOAD("r4", "r5", 2) /* left outputs: sums of three positions of a row */ \
    MOTE_WINOGRAD_LOAD("r8", "r9", 10) \
    MOTE_WINOGRAD_LOAD("r1", "r2", 6) \
    MOTE_WINOGRAD_LOAD("r3", "r12", 14) \
    "add r4, r8\n\t" \
    "add r5, r9\n\t" \
    "sub r8, r4, r8, lsl #1\n\t" \
    "sub r9, r5, r9, lsl #1\n\t" \
    "add r4, r1\n\t" \
    "add r5, r2\n\t" \
    "sub r8, r3\n\t" \
    "sub r9, r12\n\t" \
    MOTE_WINOGRAD_LOAD("r6", "r7", 0) /* right outputs: of rows 1 and 2 */ \
    MOTE_WINOGRAD_LOAD("r1", "r2", 1) \
    MOTE_WINOGRAD_LOAD("r3", "r12", 3) \
    "rsb r6, r1, r6, lsl #1\n\t" \
    "rsb r7, r2, r7, lsl #1\n\t" \
    "sub r6, r3\n\t" \
    "sub r7, r12\n\t" \
    MOTE_WINOGRAD_LOAD("r10", "r11", 8) \
    MOTE_WINOGRAD_LOAD("r1", "r2", 9) \
    MOTE_WINOGRAD_LOAD("r3", "r12", 11) \
    "rsb r10, r1, r10, lsl #1\n\t" \
    "rsb r11, r2, r11, lsl #1\n\t" \
    "sub r10, r3\n\t" \
    "sub r11, r12\n\t" \
    "add r6, r10\n\t" \
    "add r7, r11\n\t" \
    "sub r10, r6, r10, lsl #1\n\t" \
    "sub r11, r7, r11, lsl #1\n\t" \
    MOTE_WINOGRAD_LOAD("r1", "r2", 4) /* of row 0 */ \
    MOTE_WINOGRAD_LOAD("r3", "r12", 5) \
    "add r6, r6, r1, lsl #1\n\t" \
    "add r7, r7, r2, lsl #1\n\t" \
    "sub r6, r3\n\t" \
    "sub r7, r12\n\t" \
    MOTE_WINOGRAD_LOAD("r1", "r2", 7) \
    "sub r6, r1\n\t" \
    "sub r7, r2\n\t" \
    MOTE_WINOGRAD_LOAD("r1", "r2", 12) /* of row 3 */ \
    MOTE_WINOGRAD_LOAD("r3", "r12", 13) \
    "sub r10, r10, r1, lsl #1\n\t" \
    "sub r11, r11, r2, lsl #1\n\t" \
    "add r10, r3\n\t" \
    "add r11, r12\n\t" \
    MOTE_WINOGRAD_LOAD("r1", "r2", 15) \
    "add r10, r1\n\t" \
    "add r11, r2\n\t"
#else
static inline void mote_winograd2_back(const uint32_t *m, uint32_t *y) {
    for (int32_t row = 0; row < 4; row++, m += 32) {
        const uint32_t left = m[16], right = 2 * m[0] - m[8] - m[24];
        if (row < 3) {
            y[0] += left;
            y[1] += right;
        }
        if (row != 1) {
            y[2] += row == 0 ? left : 0 - left;
            y[3] += row == 0 ? right : 0 - right;
        }
    }
}
#endif

/* The kernel for one way to requantize: `kind` is relu or linear. */
#define MOTE_WINOGRAD2_S8(kind, shift) \
    MOTE_WINOGRAD_INVERSE2(winograd2, winograd2_s8_##kind##_##shift, kind, shift) \
    MOTE_WINOGRAD_KERNEL(winograd2, winograd2_s8_##kind##_##shift, mote_winograd_products, 2)

#endif
