/* mote_mul4_s8.h: int8 multiplication of two tensors, four elements at a time, for cores with DSP instructions or Helium.
 *
 * The product is multiplied, rounded, shifted right by two bits or more and rounded again, halves away from zero; what
 * that takes off negative numbers is taken off the constant before. The range is all of int8.
 */
#ifndef MOTE_MUL4_S8_H
#define MOTE_MUL4_S8_H

#include "mote_broadcast.h"
#include "mote_elements_s8.h"
#include "mote_helium.h"

typedef struct {
    int32_t a_zero, b_zero;
    int32_t mult;
    int32_t add; /* half of the last place and the output's zero point, before the right shift */
    int32_t right;
} mote_mul4_s8_t;

typedef struct {
    mote_broadcast_t walk;
    mote_mul4_s8_t mul4;
} mote_mul4_rows_s8_t;

static inline int8_t mote_mul4_one(const mote_mul4_s8_t *p, int32_t a, int32_t b) {
    const int32_t product = (a - p->a_zero) * (b - p->b_zero);
    const int32_t high = mote_high_mul(product, p->mult) + (product >> 31);
    return mote_clamp((high + p->add) >> p->right, -128, 127);
}

#if MOTE_DSP && !MOTE_HELIUM
/* Elements 0 and 2, or 1 and 3, as half words: their results as half words in x. SMMLAR wants the doubled product. */
#define MOTE_MUL4_TWO(x, y) \
    "sadd16 " x ", " x ", " x "\n\t" \
    "smulbb r12, " x ", " y "\n\t" \
    "smultt " x ", " x ", " y "\n\t" \
    "add lr, r7, r12, asr #31\n\t" \
    "smmlar r12, r12, r6, lr\n\t" \
    "add lr, r7, " x ", asr #31\n\t" \
    "smmlar " x ", " x ", r6, lr\n\t" \
    "asr r12, r12, r8\n\t" \
    "asr " x ", " x ", r8\n\t" \
    "pkhbt " x ", r12, " x ", lsl #16\n\t" \
    "usat16 " x ", #8, " x "\n\t"

/* 31 instructions for four elements. Results are 128 more until the last step. */
#define MOTE_MUL4_FOUR \
    "ldr r10, [r0], #4\n\t" \
    "ldr r11, [r1], #4\n\t" \
    "sxtab16 r9, r4, r10\n\t" \
    "sxtab16 lr, r5, r11\n\t" MOTE_MUL4_TWO("r9", "lr") \
    "sxtab16 r10, r4, r10, ror #8\n\t" \
    "sxtab16 r11, r5, r11, ror #8\n\t" MOTE_MUL4_TWO("r10", "r11") \
    "orr r9, r9, r10, lsl #8\n\t" \
    "eor r9, r9, #0x80808080\n\t" \
    "str r9, [r2], #4\n\t"

/* n elements at any addresses, a multiple of four. */
__attribute__((naked, noinline, unused)) static void mote_mul4_fours(
    const int8_t *a __attribute__((unused)), const int8_t *b __attribute__((unused)),
    int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_mul4_s8_t *p __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr r12, [sp, #36]\n\t"
                     "ldm r12, {r4-r8}\n\t"
                     "rsb r4, r4, #0\n\t"
                     "rsb r5, r5, #0\n\t"
                     "pkhbt r4, r4, r4, lsl #16\n\t"
                     "pkhbt r5, r5, r5, lsl #16\n\t"
                     "mov r12, #128\n\t"
                     "lsl r12, r12, r8\n\t"
                     "add r7, r7, r12\n"
                     "1:\n\t" MOTE_MUL4_FOUR
                     "subs r3, r3, #4\n\t"
                     "bne 1b\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#endif

static inline void mote_mul4_s8(const mote_mul4_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out, int32_t n) {
#if MOTE_HELIUM
    mote_helium_mul(a, b, out, n, &p->a_zero);
#else
    const mote_mul4_s8_t q = *p; /* a copy cannot change under the stores to out */
#if MOTE_DSP
    const int32_t fours = n & ~3;
    if (fours > 0) {
        mote_mul4_fours(a, b, out, fours, p);
    }
    n -= fours, a += fours, b += fours, out += fours;
#endif
    for (; n > 0; n--) {
        *out++ = mote_mul4_one(&q, *a++, *b++);
    }
#endif
}

#define MOTE_MUL4_COPIES 64 /* of an operand that is the same for all elements of a run */

static inline void mote_mul4_rows_s8(const mote_mul4_rows_s8_t *p, const int8_t *a, const int8_t *b, int8_t *out,
                                     int32_t lo, int32_t hi) {
    const mote_broadcast_t *walk = &p->walk;
    MOTE_FOR_RUNS(walk, at, out, lo, hi) {
        const int8_t *from = a + at.a;
        if (walk->b_step) {
            mote_mul4_s8(&p->mul4, from, b + at.b, out, walk->run);
        } else {
#if MOTE_HELIUM
            mote_helium_mul_by(from, b[at.b], out, walk->run, &p->mul4.a_zero);
#else
            int8_t copies[MOTE_MUL4_COPIES];
            memset(copies, b[at.b], MOTE_MUL4_COPIES);
            for (int32_t i = 0; i < walk->run; i += MOTE_MUL4_COPIES) {
                mote_mul4_s8(&p->mul4, from + i, copies, out + i, mote_min(walk->run - i, MOTE_MUL4_COPIES));
            }
#endif
        }
    }
}

#endif
