/* mote_add4_s8.h: int8 addition and subtraction in one step, four elements at a time, for cores with DSP instructions.
 *
 * As in mote_add_s8.h the compiler finds constants with which all 65,536 pairs of inputs give what LiteRT gives:
 *
 *   clamp((c + (a * x >> 8) + (b * y >> 8)) >> 16)
 *
 * Inputs are taken times 256, as half words that a mask leaves over; SMLAWB and SMLAWT multiply those with 32 bits and
 * keep the upper ones. The result is then the upper half of a register, so that two can be clamped at once.
 */
#ifndef MOTE_ADD4_S8_H
#define MOTE_ADD4_S8_H

#include "mote_broadcast.h"

typedef struct {
    int32_t a, b, c;
} mote_add4_s8_t;

typedef struct {
    mote_broadcast_t walk;
    mote_add4_s8_t add4;
} mote_add4_rows_s8_t;

static inline int32_t mote_add4_scale(int32_t factor, int32_t x) { return (int32_t)(((int64_t)factor * x) >> 8); }

static inline int8_t mote_add4_one(const mote_add4_s8_t *p, int32_t x, int32_t y) {
    return mote_clamp((p->c + mote_add4_scale(p->a, x) + mote_add4_scale(p->b, y)) >> 16, -128, 127);
}

#if MOTE_DSP
/* Elements 0 and 2, or 1 and 3, which are the bytes above zeros in x and y: their results as half words in x. */
#define MOTE_ADD4_TWO(x, y) \
    "smlawb r12, r4, " x ", r6\n\t" \
    "smlawt " x ", r4, " x ", r6\n\t" \
    "smlawb r12, r5, " y ", r12\n\t" \
    "smlawt " x ", r5, " y ", " x "\n\t" \
    "pkhtb " x ", " x ", r12, asr #16\n\t" \
    "usat16 " x ", #8, " x "\n\t"

/* 21 instructions for four elements. Results are 128 more until the last step. */
#define MOTE_ADD4_FOUR \
    "ldr r8, [r0], #4\n\t" \
    "ldr r9, [r1], #4\n\t" \
    "and r10, r7, r8, lsl #8\n\t" \
    "and r11, r7, r9, lsl #8\n\t" \
    "and r8, r7, r8\n\t" \
    "and r9, r7, r9\n\t" MOTE_ADD4_TWO("r10", "r11") MOTE_ADD4_TWO("r8", "r9") \
    "orr r10, r10, r8, lsl #8\n\t" \
    "eor r10, r10, #0x80808080\n\t" \
    "str r10, [r2], #4\n\t"

/* n elements at any addresses, a multiple of eight. */
__attribute__((naked, noinline, unused)) static void mote_add4_eights(
    const int8_t *x __attribute__((unused)), const int8_t *y __attribute__((unused)),
    int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_add4_s8_t *p __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr r12, [sp, #36]\n\t"
                     "ldm r12, {r4-r6}\n\t"
                     "add r6, r6, #0x800000\n\t"
                     "mov r7, #0xff00ff00\n"
                     "1:\n\t" MOTE_ADD4_FOUR MOTE_ADD4_FOUR
                     "subs r3, r3, #8\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#endif

static inline void mote_add4_s8(const mote_add4_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out, int32_t n) {
    const mote_add4_s8_t q = *p; /* a copy cannot change under the stores to out */
#if MOTE_DSP
    const int32_t eights = n & ~7;
    if (eights > 0) {
        mote_add4_eights(x, y, out, eights, p);
    }
    n -= eights, x += eights, y += eights, out += eights;
#endif
    for (; n > 0; n--) {
        *out++ = mote_add4_one(&q, *x++, *y++);
    }
}

static inline void mote_add4_rows_s8(const mote_add4_rows_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out,
                                     int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        const int8_t *from = x + at.a;
        if (walk->b_step) {
            mote_add4_s8(&p->add4, from, y + at.b, out, walk->run);
        } else {
            const int32_t a = p->add4.a, c = p->add4.c + mote_add4_scale(p->add4.b, y[at.b]);
            for (int32_t i = 0; i < walk->run; i++) {
                out[i] = mote_clamp((c + mote_add4_scale(a, from[i])) >> 16, -128, 127);
            }
        }
    }
}

#endif
