/* mote_finish_avr_s8.h: from sums to int8 on AVR: a product of 24 by 24 bits and a constant, of which 24 to 32 bits are dropped.
 *
 * A channel is MOTE_FINISH_AVR bytes in flash: the constant C (6), the multiplier M (3), and how many more bits of S * M + C
 * than 24 are dropped, 0 to 8. The compiler has looked for constants that give the reference's result for every sum that can
 * occur; all of it stays below 2^47. */
#ifndef MOTE_FINISH_AVR_S8_H
#define MOTE_FINISH_AVR_S8_H

#include "mote_common.h"

#define MOTE_FINISH_AVR 10
#define MOTE_SUM_AVR 0xffffffu /* sums have 24 bits */

#if defined(__AVR__)
__extension__ typedef __uint24 mote_sum_avr_t;
__extension__ typedef __int24 mote_signed_avr_t;
#define mote_signed_avr(sum) ((mote_signed_avr_t)(sum))
#else
typedef uint32_t mote_sum_avr_t;
typedef int32_t mote_signed_avr_t;
#define mote_signed_avr(sum) ((int32_t)((sum) ^ 0x800000u) - 0x800000)
#endif

#if defined(__AVR__)
/* `count` sums, at least one, to bytes. The product is added up byte by byte, each with what it carries; it is shifted right
 * by few bits, or left by the few that are missing to a whole byte. */
__attribute__((naked, noinline, unused)) static void mote_finish_avr(const mote_sum_avr_t *sum, const uint8_t *q,
                                                                     int8_t *out, uint8_t count, int8_t lo, int8_t hi) {
    (void)sum, (void)q, (void)out, (void)count, (void)lo, (void)hi;
    __asm__ volatile(
        "push r9\n\t"
        "push r10\n\t"
        "push r11\n\t"
        "push r12\n\t"
        "push r13\n\t"
        "push r15\n\t"
        "push r16\n\t"
        "push r17\n\t"
        "push r28\n\t"
        "push r29\n\t"
        "movw r26, r24\n\t"
        "movw r30, r22\n\t"
        "movw r28, r20\n\t"
        "mov r13, r18\n\t"
        "mov r15, r16\n\t"
        "clr r12\n\t"
        "1:\n\t"
        "ld r20, X+\n\t"
        "ld r21, X+\n\t"
        "ld r22, X+\n\t"
        "lpm r18, Z+\n\t"
        "lpm r19, Z+\n\t"
        "lpm r25, Z+\n\t"
        "lpm r24, Z+\n\t"
        "lpm r10, Z+\n\t"
        "lpm r9, Z+\n\t"
        "lpm r16, Z+\n\t"
        "lpm r17, Z+\n\t"
        "lpm r23, Z+\n\t"
        "mul r20, r16\n\t"
        "add r18, r0\n\t"
        "adc r19, r1\n\t"
        "adc r25, r12\n\t"
        "adc r24, r12\n\t"
        "adc r10, r12\n\t"
        "adc r9, r12\n\t"
        "mul r20, r17\n\t"
        "add r19, r0\n\t"
        "adc r25, r1\n\t"
        "adc r24, r12\n\t"
        "adc r10, r12\n\t"
        "adc r9, r12\n\t"
        "mul r21, r16\n\t"
        "add r19, r0\n\t"
        "adc r25, r1\n\t"
        "adc r24, r12\n\t"
        "adc r10, r12\n\t"
        "adc r9, r12\n\t"
        "mul r20, r23\n\t"
        "add r25, r0\n\t"
        "adc r24, r1\n\t"
        "adc r10, r12\n\t"
        "adc r9, r12\n\t"
        "mul r21, r17\n\t"
        "add r25, r0\n\t"
        "adc r24, r1\n\t"
        "adc r10, r12\n\t"
        "adc r9, r12\n\t"
        "mulsu r22, r16\n\t"
        "sbc r11, r11\n\t"
        "add r25, r0\n\t"
        "adc r24, r1\n\t"
        "adc r10, r11\n\t"
        "adc r9, r11\n\t"
        "mul r21, r23\n\t"
        "add r24, r0\n\t"
        "adc r10, r1\n\t"
        "adc r9, r12\n\t"
        "mulsu r22, r17\n\t"
        "sbc r11, r11\n\t"
        "add r24, r0\n\t"
        "adc r10, r1\n\t"
        "adc r9, r11\n\t"
        "mulsu r22, r23\n\t"
        "add r10, r0\n\t"
        "adc r9, r1\n\t"
        "lpm r16, Z+\n\t"
        "cpi r16, 4\n\t"
        "brlo 3f\n\t"
        "subi r16, 8\n\t"
        "breq 4f\n\t"
        "2:\n\t"
        "lsl r25\n\t"
        "rol r24\n\t"
        "rol r10\n\t"
        "rol r9\n\t"
        "inc r16\n\t"
        "brne 2b\n\t"
        "4:\n\t"
        "mov r24, r10\n\t"
        "mov r10, r9\n\t"
        "rjmp 5f\n\t"
        "6:\n\t"
        "asr r9\n\t"
        "ror r10\n\t"
        "ror r24\n\t"
        "dec r16\n\t"
        "3:\n\t"
        "tst r16\n\t"
        "brne 6b\n\t"
        "5:\n\t"
        "mov r16, r24\n\t"
        "lsl r16\n\t"
        "sbc r16, r16\n\t"
        "cp r10, r16\n\t"
        "cpc r9, r16\n\t"
        "breq 7f\n\t"
        "mov r24, r14\n\t"
        "sbrc r9, 7\n\t"
        "mov r24, r15\n\t"
        "7:\n\t"
        "cp r24, r15\n\t"
        "brge 8f\n\t"
        "mov r24, r15\n\t"
        "8:\n\t"
        "cp r14, r24\n\t"
        "brge 9f\n\t"
        "mov r24, r14\n\t"
        "9:\n\t"
        "st Y+, r24\n\t"
        "dec r13\n\t"
        "breq 1f\n\t"
        "rjmp 1b\n\t"
        "1:\n\t"
        "clr r1\n\t"
        "pop r29\n\t"
        "pop r28\n\t"
        "pop r17\n\t"
        "pop r16\n\t"
        "pop r15\n\t"
        "pop r13\n\t"
        "pop r12\n\t"
        "pop r11\n\t"
        "pop r10\n\t"
        "pop r9\n\t"
        "ret\n\t"
        :
        :
        : "memory");
}
#else
static inline void mote_finish_avr(const mote_sum_avr_t *sum, const uint8_t *q, int8_t *out, uint8_t count, int8_t lo,
                                   int8_t hi) {
    for (; count > 0; count--, sum++, out++, q += MOTE_FINISH_AVR) {
        uint64_t c = 0;
        int64_t m = 0;
        int32_t y;
        for (int32_t i = 5; i >= 0; i--) {
            c = c << 8 | q[i];
        }
        for (int32_t i = 8; i > 5; i--) {
            m = m * 256 + q[i];
        }
        c += (uint64_t)(mote_signed_avr(*sum) * m);
        y = mote_signed_avr((uint32_t)(c >> 24 & MOTE_SUM_AVR)) >> q[9];
        *out = y < lo ? lo : y > hi ? hi : (int8_t)y;
    }
}
#endif

/* The same of a sum of 32 bits: its low 24 bits, and 2^24 times what is above them. */
MOTE_NOINLINE int8_t mote_finish_avr_deep(int32_t sum, const uint8_t *q, int8_t lo, int8_t hi) {
    uint8_t of[MOTE_FINISH_AVR];
    int64_t c = 0, m = 0;
    mote_flash_copy(of, q, sizeof of);
    for (uint8_t i = 6; i > 0; i--) {
        c = (int64_t)((uint64_t)c << 8) + (i == 6 ? (int8_t)of[5] : of[i - 1]);
    }
    for (uint8_t i = 9; i > 6; i--) {
        m = m * 256 + of[i - 1];
    }
    c = (c + sum * m) >> (24 + of[9]);
    return c < lo ? lo : c > hi ? hi : (int8_t)c;
}

#endif
