/* mote_lists_armv6m.h: mote_lists.h on cores with 16-bit instructions only: nine cycles for an input of four pixels. */
#ifndef MOTE_LISTS_ARMV6M_H
#define MOTE_LISTS_ARMV6M_H

#include "mote_swar.h"

#ifdef MOTE_SWAR_PUSH
#define MOTE_LISTS_NEXT(i) \
    "ldrb r2, [r1, #" #i "]\n" \
    "adds r0, r0, r2\n" \
    "ldmia r0!, {r2, r3}\n" \
    "adds r4, r4, r2\n" \
    "adds r5, r5, r3\n"

/* r0: the next input, r1: the stream, r4, r5: the sums of a list, r6: its weight, r7: its end, lr: where fours begin,
 * r8 to r11: the sums of pixels, r12: the inputs. */
__attribute__((naked, noinline, unused, aligned(4))) static const int32_t *mote_lists_sums(
    const uint32_t *inputs __attribute__((unused)), const int32_t *stream __attribute__((unused)),
    int32_t *sum __attribute__((unused))) {
    __asm__ volatile(
        MOTE_SWAR_PUSH
        "mov r12, r0\n"
        "push {r2}\n"
        "ldmia r2!, {r4-r7}\n"
        "mov r8, r4\n"
        "mov r9, r5\n"
        "mov r10, r6\n"
        "mov r11, r7\n"
        "b 5f\n"
        "1:\n"
        "ldmia r1!, {r3}\n"
        "uxth r0, r3\n"
        "add r0, r12\n"
        "lsrs r3, r3, #16\n"
        "adds r7, r1, r3\n"
        "lsls r3, r3, #30\n"
        "lsrs r3, r3, #30\n"
        "adds r3, r1, r3\n"
        "mov lr, r3\n"
        "movs r4, #0\n"
        "movs r5, #0\n"
        "b 3f\n"
        "2:\n" MOTE_LISTS_NEXT(0)
        "adds r1, #1\n"
        "3:\n"
        "cmp r1, lr\n"
        "bne 2b\n"
        "cmp r1, r7\n"
        "beq 6f\n"
        "4:\n" MOTE_LISTS_NEXT(0) MOTE_LISTS_NEXT(1) MOTE_LISTS_NEXT(2) MOTE_LISTS_NEXT(3)
        "adds r1, #4\n"
        "cmp r1, r7\n"
        "bne 4b\n"
        "6:\n"
        "uxth r2, r4\n"
        "muls r2, r6, r2\n"
        "add r8, r2\n"
        "lsrs r4, r4, #16\n"
        "muls r4, r6, r4\n"
        "add r9, r4\n"
        "uxth r2, r5\n"
        "muls r2, r6, r2\n"
        "add r10, r2\n"
        "lsrs r5, r5, #16\n"
        "muls r5, r6, r5\n"
        "add r11, r5\n"
        "adds r1, #3\n"
        "lsrs r1, r1, #2\n"
        "lsls r1, r1, #2\n"
        "5:\n"
        "ldmia r1!, {r6}\n"
        "cmp r6, #0\n"
        "bne 1b\n"
        "movs r0, r1\n"
        "pop {r2}\n"
        "mov r4, r8\n"
        "mov r5, r9\n"
        "mov r6, r10\n"
        "mov r7, r11\n"
        "stmia r2!, {r4-r7}\n" MOTE_SWAR_POP);
}
#define mote_lists_sums mote_lists_sums
#endif

#endif
