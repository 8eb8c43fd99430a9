/* mote_winograd_stride2_s8.h: 3x3 convolutions with stride 2 in tiles of 2x2 outputs: 25 products instead of 36.
 *
 * In one direction, two outputs of five inputs a to e and the weights u, v, w are
 *     ((a - c) u + b v) + c (u + w)   and   c (u + w) + (d v + (e - c) w)
 * so that the inputs' transform is (a - c, b, c, d, e - c), three sums are left of five products, and the inverse
 * transform adds the first two and the last two. Four different transforms of the weights serve in either direction
 * (u, v, u + w, w): 16 for 25 positions.
 *
 * Positions come by columns: c first, then (a - c, b) together, then (d, e - c) together; in each of these rows come in
 * the same order, c first. So those with a common sum follow each other: of each of the three columns the sums
 * c (u + w), that and (a - c) u + b v, and d v + (e - c) w are kept.
 *
 * Scratch, in words: 9 sums of 8 and 2 to spare; a copy of outputs (8); the transformed inputs,
 * 3 + 25 * mote_winograd_stride; then a row of padding, and a patch of 5x5 pixels.
 */
#ifndef MOTE_WINOGRAD_STRIDE2_S8_H
#define MOTE_WINOGRAD_STRIDE2_S8_H

#include "mote_winograd.h"

#if MOTE_DSP
/* Two channels of a column of five rows, transformed; r0 moves by a multiple of the step between columns first, which
 * is on the stack behind the rows. 15 instructions. */
#define MOTE_WINOGRAD_STRIDE2_LOAD(a, b, c, d, e, move, times, ror) \
    "ldr " a ", [sp, #20]\n\t" \
    move " r0, r0, " a times "\n\t" \
    "ldm sp, {" a ", " b ", " c ", " d ", " e "}\n\t" \
    "ldr " a ", [" a ", r0]\n\t" \
    "ldr " b ", [" b ", r0]\n\t" \
    "ldr " c ", [" c ", r0]\n\t" \
    "ldr " d ", [" d ", r0]\n\t" \
    "ldr " e ", [" e ", r0]\n\t" \
    "sxtb16 " a ", " a ror "\n\t" \
    "sxtb16 " b ", " b ror "\n\t" \
    "sxtb16 " c ", " c ror "\n\t" \
    "sxtb16 " d ", " d ror "\n\t" \
    "sxtb16 " e ", " e ror "\n\t" \
    "ssub16 " a ", " a ", " c "\n\t" \
    "ssub16 " e ", " e ", " c "\n\t"
#define MOTE_WINOGRAD_STRIDE2_C(move, times, ror) \
    MOTE_WINOGRAD_STRIDE2_LOAD("r4", "r5", "r6", "r7", "r8", move, times, ror)
#define MOTE_WINOGRAD_STRIDE2_ABDE(move, times, ror) \
    MOTE_WINOGRAD_STRIDE2_LOAD("r9", "r10", "r11", "r12", "lr", move, times, ror)

/* To every second position (r2: from one to the next, r3: three times that), c first. */
#define MOTE_WINOGRAD_STRIDE2_STORE(a, b, c, d, e) \
    "str " c ", [r1]\n\t" \
    "str " a ", [r1, r2, lsl #1]\n\t" \
    "str " b ", [r1, r2, lsl #2]\n\t" \
    "str " d ", [r1, r3, lsl #1]\n\t" \
    "str " e ", [r1, r2, lsl #3]\n\t"

/* Tiles side by side, the first column (r9-lr) of which is the last one of the tile before. 106 instructions a tile. */
#define MOTE_WINOGRAD_STRIDE2_TILES(ror) \
    MOTE_WINOGRAD_STRIDE2_ABDE("sub", "", ror) \
    "1:\n\t" MOTE_WINOGRAD_STRIDE2_C("add", ", lsl #1", ror) /* c */ \
    "str r6, [r1]\n\t" \
    "str r4, [r1, r2]\n\t" \
    "str r5, [r1, r2, lsl #1]\n\t" \
    "str r7, [r1, r3]\n\t" \
    "str r8, [r1, r2, lsl #2]\n\t" \
    "add r1, r1, r2\n\t" /* a - c */ \
    "add r1, r1, r2, lsl #2\n\t" \
    "ssub16 r9, r9, r4\n\t" \
    "ssub16 r10, r10, r5\n\t" \
    "ssub16 r11, r11, r6\n\t" \
    "ssub16 r12, r12, r7\n\t" \
    "ssub16 lr, lr, r8\n\t" MOTE_WINOGRAD_STRIDE2_STORE("r9", "r10", "r11", "r12", "lr") \
    MOTE_WINOGRAD_STRIDE2_ABDE("sub", "", ror) /* b */ \
    "add r1, r2\n\t" MOTE_WINOGRAD_STRIDE2_STORE("r9", "r10", "r11", "r12", "lr") \
    MOTE_WINOGRAD_STRIDE2_ABDE("add", ", lsl #1", ror) /* d */ \
    "add r1, r1, r2, lsl #3\n\t" \
    "add r1, r2\n\t" MOTE_WINOGRAD_STRIDE2_STORE("r9", "r10", "r11", "r12", "lr") \
    MOTE_WINOGRAD_STRIDE2_ABDE("add", "", ror) /* e - c */ \
    "add r1, r2\n\t" \
    "ssub16 r4, r9, r4\n\t" \
    "ssub16 r5, r10, r5\n\t" \
    "ssub16 r6, r11, r6\n\t" \
    "ssub16 r7, r12, r7\n\t" \
    "ssub16 r8, lr, r8\n\t" MOTE_WINOGRAD_STRIDE2_STORE("r4", "r5", "r6", "r7", "r8") \
    "ldr r4, [sp, #24]\n\t" \
    "sub r1, r1, r2, lsl #4\n\t" \
    "add r1, #4\n\t" \
    "cmp r0, r4\n\t" \
    "bne 1b\n\t"

/* Transform four channels of `tiles` tiles side by side, the first of which begins `offset` bytes on in five rows.
 * `stride`: bytes from one position to the next. */
__attribute__((naked, noinline, unused)) static void mote_winograd_stride2_tiles(
    const int8_t *const *rows __attribute__((unused)), uint32_t *to __attribute__((unused)),
    int32_t stride __attribute__((unused)), int32_t offset __attribute__((unused)),
    int32_t pixel __attribute__((unused)), int32_t tiles __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldrd r9, r10, [sp, #36]\n\t"
                     "ldm r0, {r4-r8}\n\t"
                     "lsl r10, r10, #2\n\t"
                     "add r0, r3, r9\n\t"          /* a column further: the first step is back */
                     "mla r10, r10, r9, r3\n\t"    /* the last column */
                     "add r3, r2, r2, lsl #1\n\t"
                     "mov r11, r0\n\t"
                     "mov r12, r1\n\t"
                     "push {r4-r12}\n\t" MOTE_WINOGRAD_STRIDE2_TILES("")
                     "ldrd r0, r1, [sp, #28]\n\t"
                     "add r1, #16\n\t" MOTE_WINOGRAD_STRIDE2_TILES(", ror #8")
                     "add sp, #36\n\t"
                     "pop {r4-r11, pc}\n\t");
}

/* The inverse transform of two tiles: 23 instructions. */
#define MOTE_WINOGRAD_BACK_winograd_stride2 \
    MOTE_WINOGRAD_LOAD("r1", "r2", 0) \
    MOTE_WINOGRAD_LOAD("r10", "r11", 2) \
    MOTE_WINOGRAD_LOAD("r6", "r7", 1) \
    MOTE_WINOGRAD_LOAD("r4", "r5", 4) \
    MOTE_WINOGRAD_LOAD("r8", "r9", 3) \
    MOTE_WINOGRAD_LOAD("r3", "r12", 5) \
    "add r10, r1\n\t" \
    "add r11, r2\n\t" \
    "add r8, r3\n\t" \
    "add r9, r12\n\t" \
    "add r4, r6\n\t" \
    "add r5, r7\n\t" \
    "add r8, r10\n\t" \
    "add r9, r11\n\t" \
    MOTE_WINOGRAD_LOAD("r1", "r2", 7) \
    MOTE_WINOGRAD_LOAD("r3", "r12", 6) \
    "add r6, r1\n\t" \
    "add r7, r2\n\t" \
    "add r10, r3\n\t" \
    "add r11, r12\n\t" \
    MOTE_WINOGRAD_LOAD("r1", "r2", 8) \
    "add r10, r1\n\t" \
    "add r11, r2\n\t"
#else
static inline void mote_winograd_stride2_tiles(const int8_t *const *rows, uint32_t *to, int32_t stride, int32_t offset,
                                               int32_t pixel, int32_t tiles) {
    static const int32_t first[5] = {5, 6, 0, 15, 16}, step[5] = {2, 2, 1, 2, 2}, row[5] = {1, 2, 0, 3, 4};
    for (int32_t i = 0; i < 2 * tiles; i++) {
        uint32_t x[5][5];
        for (int32_t c = 0; c < 5; c++) {
            for (int32_t k = 0; k < 5; k++) {
                const int8_t *from = rows[k] + offset + (4 * (i / 2) + c) * pixel + i % 2;
                x[c][k] = (uint32_t)(uint16_t)from[0] | (uint32_t)(uint16_t)from[2] << 16;
            }
            x[c][0] = mote_winograd_sub2(x[c][0], x[c][2]);
            x[c][4] = mote_winograd_sub2(x[c][4], x[c][2]);
        }
        for (int32_t c = 0; c < 5; c++) {
            for (int32_t k = 0; k < 5; k++) {
                uint32_t *at = to + (first[c] + row[k] * step[c]) * (stride / 4) + i % 2 * 4 + i / 2;
                *at = c == 0 || c == 4 ? mote_winograd_sub2(x[c][k], x[2][k]) : x[c][k];
            }
        }
    }
}

static inline void mote_winograd_stride2_back(const uint32_t *m, uint32_t *y) {
    y[0] = m[8 * 4] + m[8 * 1];
    y[1] = m[8 * 1] + m[8 * 7];
    y[2] = m[8 * 3] + m[8 * 5] + m[8 * 0] + m[8 * 2];
    y[3] = m[8 * 0] + m[8 * 2] + m[8 * 6] + m[8 * 8];
}
#endif

MOTE_WINOGRAD_SMALL void mote_winograd_stride2_start(mote_winograd_work_t *w, const mote_winograd_t *p,
                                                     uint32_t *scratch) {
    /* Weights (4 * row + column of u, v, u + w, w) and sum of each position. */
    static const uint8_t order[26][2] = {
        {10, 0}, {2, 1}, {6, 1}, {6, 2}, {14, 2},                                           /* c */
        {8, 3},  {9, 3}, {0, 4}, {1, 4}, {4, 4},  {5, 4}, {4, 5}, {5, 5}, {12, 5}, {13, 5}, /* a - c and b */
        {9, 6}, {11, 6}, {1, 7}, {3, 7}, {5, 7},  {7, 7}, {5, 8}, {7, 8}, {13, 8}, {15, 8}, /* d and e - c */
        {16, 9},
    };
    mote_winograd_start(w, p, 2, 9, 0, 3 + 25 * mote_winograd_stride(p->in_channels, 3), scratch);
    mote_winograd_control(w, 25, 3, order, (uint32_t)1 << 1 | (uint32_t)1 << 7 | (uint32_t)1 << 17, 26);
}

/* Four bytes, to where words lie. */
static inline void mote_winograd_copy4(const int8_t *from, int8_t *to) {
#if MOTE_DSP
    *(uint32_t *)(void *)to = mote_load4(from);
#else
    memcpy(to, from, 4);
#endif
}

/* A tile that is partly outside the image, copied together with what is around the image. */
MOTE_NOINLINE void mote_winograd_stride2_gather(const mote_winograd_work_t *w, const int8_t *const *rows, int32_t first,
                                                int8_t *to, const int8_t **gathered) {
    const int32_t channels = w->p->in_channels;
    const int32_t lo = first < 0 ? 0 : first, hi = mote_min(first + 5, w->p->cols.in_size);
    for (int32_t k = 0; k < 5; k++) {
        const int8_t *from = rows[k] + lo * channels;
        gathered[k] = to;
        for (int32_t x = first; x < first + 5; x++) {
            if (x < lo || x >= hi) {
                memset(to, (int)w->p->in_zero, (size_t)channels);
                to += channels;
            } else {
                for (int32_t c = 0; c < channels; c += 4, to += 4, from += 4) {
                    mote_winograd_copy4(from, to);
                }
            }
        }
    }
}

/* Transform the inputs of a block. */
MOTE_NOINLINE void mote_winograd_stride2_forward(mote_winograd_work_t *w) {
    const mote_winograd_t *const p = w->p;
    const int32_t channels = p->in_channels, width = p->cols.in_size, stride = 4 * mote_winograd_stride(channels, 3);
    int8_t *const patch = w->fill + width * channels;
    for (int32_t i = 0; i < w->runs; i++) {
        const mote_winograd_run_t *const r = &w->run[i];
        const int8_t *rows[5], *gathered[5];
        int32_t tile = 0;
        mote_winograd_rows(w, r, 5, rows);
        while (tile < r->tiles) { /* as many at once as are inside the image, or one */
            const int32_t first = 2 * r->x - p->cols.pad + 4 * tile;
            const int32_t inside = first < 0 ? 0 : mote_min((width - 1 - first) / 4, r->tiles - tile);
            mote_winograd_place_t at = mote_winograd_first(channels, 3, w->inputs + r->lane + tile);
            if (inside == 0) {
                mote_winograd_stride2_gather(w, rows, first, patch, gathered);
            }
            for (int32_t c = 0; c < channels; c += 4, mote_winograd_further(&at)) {
                if (inside == 0) {
                    mote_winograd_stride2_tiles(gathered, at.to, stride, c, channels, 1);
                } else {
                    mote_winograd_stride2_tiles(rows, at.to, stride, first * channels + c, channels, inside);
                }
            }
            tile += inside == 0 ? 1 : inside;
        }
    }
}

/* The kernel for one way to requantize: `kind` is relu or linear. */
#define MOTE_WINOGRAD_STRIDE2_S8(kind, shift) \
    MOTE_WINOGRAD_INVERSE2(winograd_stride2, winograd_stride2_s8_##kind##_##shift, kind, shift) \
    MOTE_WINOGRAD_KERNEL(winograd_stride2, winograd_stride2_s8_##kind##_##shift, mote_winograd_products_seeking, 2)

#endif
