/* mote_line_s8_dsp.h: mote_line_s8.h, which includes it, with DSP instructions, four elements at a time. */
#ifndef MOTE_LINE_S8_DSP_H
#define MOTE_LINE_S8_DSP_H

#include "mote_dsp.h"
#include "mote_helium.h"
#include "mote_max_s8.h"

#if MOTE_DSP && !MOTE_HELIUM
static inline uint32_t mote_line_add_word(uint32_t sum, const int8_t *x) {
    __asm__("usada8 %0, %1, %2, %0" : "+r"(sum) : "r"(mote_load4(x) ^ 0x80808080u), "r"(0));
    return sum;
}

/* Bytes are added as if they were unsigned, 128 more each; 14 instructions for sixteen. */
MOTE_HOT static inline int32_t mote_line_sum(const int8_t *x, int32_t n) {
    const int32_t fours = n & ~3;
    int32_t all = -128 * fours, i = 0;
    uint32_t sum = 0;
    for (; i + 16 <= n; i += 16, x += 16) {
        sum = mote_line_add_word(sum, x);
        sum = mote_line_add_word(sum, x + 4);
        sum = mote_line_add_word(sum, x + 8);
        sum = mote_line_add_word(sum, x + 12);
    }
    for (; i < fours; i += 4, x += 4) {
        sum = mote_line_add_word(sum, x);
    }
    for (; i < n; i++) {
        all += *x++;
    }
    return all + (int32_t)sum;
}
#define mote_line_sum mote_line_sum

MOTE_HOT static inline int32_t mote_line_max(const int8_t *x, int32_t n) {
    const int32_t fours = n & ~3;
    uint32_t most = 0x80808080u;
    int32_t i = 0;
    for (; i + 16 <= n; i += 16, x += 16) {
        most = mote_max_bytes(most, mote_load4(x));
        most = mote_max_bytes(most, mote_load4(x + 4));
        most = mote_max_bytes(most, mote_load4(x + 8));
        most = mote_max_bytes(most, mote_load4(x + 12));
    }
    for (; i < fours; i += 4, x += 4) {
        most = mote_max_bytes(most, mote_load4(x));
    }
    most = mote_max_bytes(most, most >> 16);
    most = mote_max_bytes(most, most >> 8);
    return mote_max_1(x, 1, n - fours, (int8_t)(most & 0xff));
}
#define mote_line_max mote_line_max

/* The elements at r0 times 256 as half words in r8 (0 and 2) and r9 (1 and 3): r4 times each, plus r5, in r10, r8, r11 and
 * r9. r12 is a mask. */
#define MOTE_LINE_LOAD \
    "ldr r9, [r0], #4\n\t" \
    "and r8, r12, r9, lsl #8\n\t" \
    "and r9, r12, r9\n\t" \
    "smlawb r10, r4, r8, r5\n\t" \
    "smlawt r8, r4, r8, r5\n\t" \
    "smlawb r11, r4, r9, r5\n\t" \
    "smlawt r9, r4, r9, r5\n\t"

/* Their upper halves, clamped, as the bytes of r8. */
#define MOTE_LINE_BYTES \
    "pkhtb r8, r8, r10, asr #16\n\t" \
    "pkhtb r9, r9, r11, asr #16\n\t" \
    "usat16 r8, #8, r8\n\t" \
    "usat16 r9, #8, r9\n\t" \
    "orr r8, r8, r9, lsl #8\n\t"

/* 14 instructions for four elements, whose results are 128 more until the last step. */
#define MOTE_LINE_AFFINE_FOUR \
    MOTE_LINE_LOAD MOTE_LINE_BYTES "eor r8, r8, #0x80808080\n\t" \
                                   "str r8, [r1], #4\n\t"

/* n elements, a multiple of eight. */
__attribute__((naked, noinline, unused)) static void mote_line_affine_eights(
    const int8_t *x __attribute__((unused)), int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_line_affine_t *p __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldrd r4, r5, [r3]\n\t"
                     "add r5, r5, #0x800000\n\t"
                     "mov r12, #0xff00ff00\n"
                     "1:\n\t" MOTE_LINE_AFFINE_FOUR MOTE_LINE_AFFINE_FOUR
                     "subs r2, r2, #8\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline void mote_line_affine(const mote_line_affine_t *p, const int8_t *x, int8_t *out, int32_t n) {
    const mote_line_affine_t q = *p;
    const int32_t eights = n & ~7;
    if (eights > 0) {
        mote_line_affine_eights(x, out, eights, &q);
    }
    for (n -= eights, x += eights, out += eights; n > 0; n--) {
        *out++ = mote_line_affine_one(&q, *x++);
    }
}
#define mote_line_affine mote_line_affine

/* n elements, a multiple of four, with the multiplier and what is added in r6 and r7: 21 instructions for four. */
__attribute__((naked, noinline, unused)) static int32_t mote_line_squares_fours(
    const int8_t *x __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_line_squares_t *p __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r2, {r4-r7}\n\t"
                     "mov r12, #0xff00ff00\n\t"
                     "mov r2, #0\n\t"
                     "mov r3, #0\n"
                     "1:\n\t" MOTE_LINE_LOAD
                     "smultt r10, r10, r10\n\t"
                     "smultt r8, r8, r8\n\t"
                     "smultt r11, r11, r11\n\t"
                     "smultt r9, r9, r9\n\t"
                     "smmla r10, r10, r6, r7\n\t"
                     "smmla r8, r8, r6, r7\n\t"
                     "smmla r11, r11, r6, r7\n\t"
                     "smmla r9, r9, r6, r7\n\t" MOTE_LINE_BYTES
                     "usada8 r2, r8, r3, r2\n\t"
                     "subs r1, r1, #4\n\t"
                     "bne 1b\n\t"
                     "mov r0, r2\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline int32_t mote_line_squares(const mote_line_squares_t *p, const int8_t *x, int32_t n) {
    const int32_t fours = n & ~3;
    int32_t sum = fours > 0 ? mote_line_squares_fours(x, fours, p) : 0;
    for (n -= fours, x += fours; n > 0; n--) {
        sum += mote_line_square_one(p, *x++);
    }
    return sum;
}
#define mote_line_squares mote_line_squares

/* A product in x and its result, before it is clamped; r6 is the multiplier, r7 what is added, r4 the shift. SMMLAR wants
 * the doubled product. */
#define MOTE_LINE_PRODUCT(x) \
    "add lr, r7, " x ", asr #31\n\t" \
    "smmlar " x ", " x ", r6, lr\n\t" \
    "asr " x ", " x ", r4\n\t"

/* n elements, a multiple of four: 26 instructions for four. r12 is twice the factor, r5 the zero point in both halves. */
__attribute__((naked, noinline, unused)) static void mote_line_product_fours(
    const int8_t *x __attribute__((unused)), int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_line_product_t *p __attribute__((unused)), int32_t y __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr r12, [sp, #36]\n\t"
                     "ldm r3, {r4-r8}\n\t"
                     "sub r12, r12, r5\n\t"
                     "lsl r12, r12, #1\n\t"
                     "rsb r5, r4, #0\n\t"
                     "pkhbt r5, r5, r5, lsl #16\n\t"
                     "mov r4, #128\n\t"
                     "lsl r4, r4, r8\n\t"
                     "add r7, r7, r4\n\t"
                     "mov r4, r8\n"
                     "1:\n\t"
                     "ldr r9, [r0], #4\n\t"
                     "sxtab16 r8, r5, r9\n\t"
                     "sxtab16 r9, r5, r9, ror #8\n\t"
                     "smulbb r10, r8, r12\n\t"
                     "smultb r8, r8, r12\n\t"
                     "smulbb r11, r9, r12\n\t"
                     "smultb r9, r9, r12\n\t" MOTE_LINE_PRODUCT("r10") MOTE_LINE_PRODUCT("r8") MOTE_LINE_PRODUCT("r11")
                         MOTE_LINE_PRODUCT("r9")
                     "pkhbt r8, r10, r8, lsl #16\n\t"
                     "pkhbt r9, r11, r9, lsl #16\n\t"
                     "usat16 r8, #8, r8\n\t"
                     "usat16 r9, #8, r9\n\t"
                     "orr r8, r8, r9, lsl #8\n\t"
                     "eor r8, r8, #0x80808080\n\t"
                     "str r8, [r1], #4\n\t"
                     "subs r2, r2, #4\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline void mote_line_product(const mote_line_product_t *p, const int8_t *x, int32_t y, int8_t *out, int32_t n) {
    const mote_line_product_t q = *p;
    const int32_t fours = n & ~3;
    if (fours > 0) {
        mote_line_product_fours(x, out, fours, &q, y);
    }
    for (n -= fours, x += fours, out += fours; n > 0; n--) {
        *out++ = mote_line_product_one(&q, *x++, y);
    }
}
#define mote_line_product mote_line_product
#endif

#endif
