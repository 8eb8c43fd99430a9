/* mote_lanes_armv6m.h: mote_lanes_s8.h on cores with 16-bit instructions only. */
#ifndef MOTE_LANES_ARMV6M_H
#define MOTE_LANES_ARMV6M_H

#include "mote_compiler.h"

#if defined(__thumb__) && !defined(__thumb2__) && defined(__GNUC__) && !defined(MOTE_PORTABLE)

#define MOTE_LANES_GROUP \
    "ldmia r0!, {r2, r3, r4}\n\t" \
    "ldmia r1!, {r5, r6, r7}\n\t" \
    "muls r2, r5, r2\n\t" \
    "muls r3, r6, r3\n\t" \
    "muls r4, r7, r4\n\t" \
    "adds r2, r2, r3\n\t" \
    "adds r2, r2, r4\n\t" \
    "add r2, r10\n\t" \
    "add r8, r2\n\t" \
    "asrs r2, r2, #16\n\t" \
    "add r9, r2\n\t"
#define MOTE_LANES_JUMP_ON \
    "mov r7, lr\n\t" \
    "ldr r7, [r7, #28]\n\t" \
    "adds r0, r0, r7\n\t"
/* r2..r6: most, coarse, fine, add, drop. */
#define MOTE_LANES_SCALE(sum) \
    "asrs r7, " sum ", #31\n\t" \
    "bics " sum ", " sum ", r7\n\t" \
    "cmp " sum ", r2\n\t" \
    "ble 4f\n\t" \
    "mov " sum ", r2\n" \
    "4:\n\t" \
    "mov r7, " sum "\n\t" \
    "muls r7, r4, r7\n\t" \
    "lsrs r7, r7, r6\n\t" \
    "muls " sum ", r3, " sum "\n\t" \
    "adds " sum ", " sum ", r7\n\t" \
    "adds " sum ", " sum ", r5\n\t" \
    "lsrs " sum ", " sum ", #24\n\t"

/* The same, with r8 and r9: turn and fix. */
#define MOTE_LANES_SCALE_HALVES(sum) \
    "asrs r7, " sum ", #31\n\t" \
    "bics " sum ", " sum ", r7\n\t" \
    "cmp " sum ", r2\n\t" \
    "ble 4f\n\t" \
    "mov " sum ", r2\n" \
    "4:\n\t" \
    "mov r7, " sum "\n\t" \
    "muls r7, r4, r7\n\t" \
    "lsrs r7, r7, r6\n\t" \
    "cmp " sum ", r8\n\t" \
    "blo 8f\n\t" \
    "add r7, r9\n" \
    "8:\n\t" \
    "muls " sum ", r3, " sum "\n\t" \
    "adds " sum ", " sum ", r7\n\t" \
    "adds " sum ", " sum ", r5\n\t" \
    "lsrs " sum ", " sum ", #24\n\t"

#define MOTE_LANES_OF_NINE_V6 \
    MOTE_LANES_GROUP MOTE_LANES_JUMP_ON MOTE_LANES_GROUP MOTE_LANES_JUMP_ON MOTE_LANES_GROUP
/* The count of columns is on the stack, that of groups in r12. */
#define MOTE_LANES_OF_ANY_V6 \
    "mov r7, lr\n\t" \
    "ldr r7, [r7, #48]\n" \
    "6:\n\t" \
    "str r7, [sp]\n\t" \
    "mov r7, lr\n\t" \
    "ldr r7, [r7, #52]\n" \
    "7:\n\t" \
    "mov r12, r7\n\t" MOTE_LANES_GROUP \
    "mov r7, r12\n\t" \
    "subs r7, r7, #1\n\t" \
    "bne 7b\n\t" MOTE_LANES_JUMP_ON \
    "ldr r7, [sp]\n\t" \
    "subs r7, r7, #1\n\t" \
    "bne 6b\n\t"
#define MOTE_LANES_BYTES_short \
    "ldmia r7!, {r2, r3, r4, r5, r6}\n\t" MOTE_LANES_SCALE("r0") MOTE_LANES_SCALE("r1")
#define MOTE_LANES_BYTES_short_halves \
    "ldr r2, [r7, #20]\n\t" \
    "mov r8, r2\n\t" \
    "ldr r2, [r7, #24]\n\t" \
    "mov r9, r2\n\t" \
    "ldmia r7!, {r2, r3, r4, r5, r6}\n\t" MOTE_LANES_SCALE_HALVES("r0") MOTE_LANES_SCALE_HALVES("r1")

/* r8: T, r9: H, r10: half of a lane, r11: words. */
#define MOTE_LANES_V6(name, dot, bytes) \
    __attribute__((naked, noinline, unused, aligned(4))) static void name( \
        mote_lanes_windows_t *t __attribute__((unused))) { \
        __asm__ volatile( \
            ".syntax unified\n\t" \
            "push {r4-r7, lr}\n\t" \
            "mov r4, r8\n\t" \
            "mov r5, r9\n\t" \
            "mov r6, r10\n\t" \
            "mov r7, r11\n\t" \
            "push {r4-r7}\n\t" \
            "sub sp, #4\n\t" \
            "mov lr, r0\n\t" \
            "ldr r1, [r0]\n\t" \
            "mov r11, r1\n\t" \
            "movs r1, #128\n\t" \
            "lsls r1, r1, #8\n\t" \
            "mov r10, r1\n" \
            "1:\n\t" \
            "mov r7, lr\n\t" \
            "ldr r1, [r7, #4]\n\t" \
            "ldr r2, [r7, #32]\n\t" \
            "mov r8, r2\n\t" \
            "ldr r2, [r7, #36]\n\t" \
            "mov r9, r2\n\t" \
            "mov r0, r11\n\t" dot \
            "mov r7, lr\n\t" \
            "ldr r2, [r7, #44]\n\t" \
            "movs r4, #0\n\t" \
            "ldrsh r3, [r2, r4]\n\t" \
            "cmp r3, #0\n\t" \
            "beq 3f\n\t" \
            "mov r0, r11\n" \
            "2:\n\t" \
            "adds r2, r2, #2\n\t" \
            "ldrsh r5, [r2, r4]\n\t" \
            "adds r2, r2, #2\n\t" \
            "ldrsh r6, [r2, r4]\n\t" \
            "ldr r5, [r0, r5]\n\t" \
            "muls r5, r6, r5\n\t" \
            "add r8, r5\n\t" \
            "add r5, r10\n\t" \
            "asrs r5, r5, #16\n\t" \
            "add r9, r5\n\t" \
            "subs r3, r3, #1\n\t" \
            "bne 2b\n" \
            "3:\n\t" \
            "ldr r3, [r7, #24]\n\t" \
            "add r11, r3\n\t" \
            "ldr r7, [r7, #40]\n\t" \
            "mov r0, r8\n\t" \
            "mov r1, r9\n\t" \
            "lsls r2, r1, #16\n\t" \
            "subs r0, r0, r2\n\t" bytes \
            "mov r7, lr\n\t" \
            "adds r7, r7, #8\n\t" \
            "ldmia r7!, {r2, r3, r4, r5}\n\t" \
            "strb r0, [r2]\n\t" \
            "strb r1, [r3]\n\t" \
            "adds r2, r2, r5\n\t" \
            "adds r3, r3, r5\n\t" \
            "subs r7, r7, #16\n\t" \
            "subs r4, r4, #1\n\t" \
            "stmia r7!, {r2, r3, r4}\n\t" \
            "beq 5f\n\t" \
            "b 1b\n" \
            "5:\n\t" \
            "add sp, #4\n\t" \
            "pop {r4-r7}\n\t" \
            "mov r8, r4\n\t" \
            "mov r9, r5\n\t" \
            "mov r10, r6\n\t" \
            "mov r11, r7\n\t" \
            "pop {r4-r7, pc}\n\t"); \
    }

MOTE_LANES_V6(mote_lanes_nine_short, MOTE_LANES_OF_NINE_V6, MOTE_LANES_BYTES_short)
MOTE_LANES_V6(mote_lanes_nine_short_halves, MOTE_LANES_OF_NINE_V6, MOTE_LANES_BYTES_short_halves)
MOTE_LANES_V6(mote_lanes_any_short, MOTE_LANES_OF_ANY_V6, MOTE_LANES_BYTES_short)
MOTE_LANES_V6(mote_lanes_any_short_halves, MOTE_LANES_OF_ANY_V6, MOTE_LANES_BYTES_short_halves)
#define mote_lanes_nine_short mote_lanes_nine_short
#define mote_lanes_nine_short_halves mote_lanes_nine_short_halves
#define mote_lanes_any_short mote_lanes_any_short
#define mote_lanes_any_short_halves mote_lanes_any_short_halves

#endif

#endif
