/* mote_gates_s16_dsp.h: mote_gates_s16.h, which includes it, with DSP instructions. */
#ifndef MOTE_GATES_S16_DSP_H
#define MOTE_GATES_S16_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !defined(mote_logistic_run_s16)
/* mote_high_mul_s16 is one SMMULR where one factor lies 17 bits to the left. Of a constant of 2^14 or more that makes a
 * negative number, the other factor too little: SMMLAR adds that again. r11 has such constants, and r5 the result.
 * `bit`: whether the factor is left out. */
#define MOTE_GATE_LARGE(factor, bit) \
    "movt r11, #2*" #factor "\n\t" \
    "it " bit "\n\t" \
    "smmlar" bit " r5, r5, r11, r5\n\t"
#define MOTE_GATE_SMALL(factor, bit) \
    "movt r11, #2*" #factor "\n\t" \
    "it " bit "\n\t" \
    "smmulr" bit " r5, r5, r11\n\t"

#define MOTE_GATE_NEWTON \
    "smmlar r4, r7, r6, r6\n\t" \
    "sub r4, r10, r4, lsl #17\n\t" \
    "smmulr r4, r6, r4\n\t" \
    "add r6, r6, r4, lsl #2\n\t"

/* mote_exp_s16 and mote_half_reciprocal_s16 of -|x|: r6 of r3, which is not 0, and r12 its sign. A quarter is 2^13
 * steps of r3 after it has been shifted by lr: of the bits that count them the first is the carry, the next four become
 * flags. r8 and r9 are 10923 and 28918 times 2^17, r10 is 2^30; `narrow` and `last`: for more than four bits. */
#define MOTE_GATE(narrow, last) \
    "asr r12, r3, #31\n\t" \
    "eor r3, r3, r12\n\t" \
    "sub r3, r12, r3\n\t" \
    "lsl r3, r3, lr\n\t" narrow \
    "lsls r7, r3, #19\n\t" \
    "eor r7, r7, #0x80000000\n\t" \
    "asr r4, r7, #19\n\t" \
    "asr r5, r7, #2\n\t" \
    "smmulr r6, r4, r5\n\t" \
    "smmulr r7, r6, r5\n\t" \
    "lsl r5, r6, #17\n\t" \
    "smmulr r5, r6, r5\n\t" \
    "add r5, r5, #2\n\t" \
    "add r7, r7, r5, asr #2\n\t" \
    "smmlar r7, r7, r8, r6\n\t" \
    "add r7, r7, #1\n\t" \
    "add r4, r4, r7, asr #1\n\t" \
    "movw r7, #28918\n\t" \
    "add r7, r7, r4\n\t" \
    "smmlar r5, r4, r9, r7\n\t" MOTE_GATE_LARGE(25520, "cc") \
    "lsl r7, r3, #14\n\t" \
    "msr APSR_nzcvq, r7\n\t" \
    MOTE_GATE_LARGE(19875, "vc") MOTE_GATE_SMALL(12055, "cc") MOTE_GATE_SMALL(4435, "ne") MOTE_GATE_SMALL(600, "pl") last \
    "lsr r7, r5, #1\n\t" \
    "orr r7, r7, #0x4000\n\t" \
    "lsl r7, r7, #17\n\t" \
    "movw r4, #15420\n\t" \
    "movw r6, #7710\n\t" \
    "smmlsr r6, r7, r4, r6\n\t" MOTE_GATE_NEWTON MOTE_GATE_NEWTON MOTE_GATE_NEWTON

/* The numbers from x to `end`, at least one. `bits` of x before the point, of tanh those of twice x. */
#define MOTE_GATES(name, narrow, last, finish, zero) \
    __attribute__((naked, noinline, unused)) static void name( \
        const int16_t *x __attribute__((unused)), int16_t *y __attribute__((unused)), \
        const int16_t *end __attribute__((unused)), int32_t bits __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "mov lr, r3\n\t" \
                         "mov r8, #0\n\t" \
                         "mov r9, #0\n\t" \
                         "mov r11, #0\n\t" \
                         "movt r8, #2*10923\n\t" \
                         "movt r9, #2*28918\n\t" \
                         "mov r10, #0x40000000\n" \
                         "1:\n\t" \
                         "ldrsh r3, [r0], #2\n\t" \
                         "cmp r3, #0\n\t" \
                         "beq.w 3f\n\t" MOTE_GATE(narrow, last) finish "2:\n\t" \
                         "strh r6, [r1], #2\n\t" \
                         "cmp r0, r2\n\t" \
                         "bne.w 1b\n\t" \
                         "pop {r4-r11, pc}\n" \
                         "3:\n\t" \
                         "mov r6, #" #zero "\n\t" \
                         "b.w 2b\n\t"); \
    }

MOTE_GATES(mote_logistic_dsp, "", "",
           "ssat r6, #16, r6, lsl #1\n\t"
           "eor r6, r6, r12, lsr #17\n",
           0x4000)
MOTE_GATES(mote_tanh_dsp, "ssat r3, #20, r3\n\t",
           "tst r3, #0x40000\n\t" MOTE_GATE_SMALL(11, "eq"),
           "sub r6, r6, #8192\n\t"
           "ssat r6, #16, r6, lsl #2\n\t"
           "eor r6, r6, r12\n\t"
           "sub r6, r6, r12\n",
           0)

static inline void mote_logistic_run_s16(int16_t *x, int32_t n) {
    if (n > 0) {
        mote_logistic_dsp(x, x, x + n, 3);
    }
}
#define mote_logistic_run_s16 mote_logistic_run_s16

static inline void mote_tanh_run_s16(const int16_t *x, int32_t bits, int16_t *y, int32_t n) {
    if (n > 0) {
        mote_tanh_dsp(x, y, x + n, bits + 1);
    }
}
#define mote_tanh_run_s16 mote_tanh_run_s16
#endif

#endif
