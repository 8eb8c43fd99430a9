/* mote_joined_armv6m.h: mote_joined.h on cores with 16-bit instructions only. */
#ifndef MOTE_JOINED_ARMV6M_H
#define MOTE_JOINED_ARMV6M_H

#include "mote_swar_armv6m.h"

#ifdef MOTE_SWAR_PUSH

/* Half of a group, two pixels; a group has 64 bytes and takes 45 cycles. */
#define MOTE_JOINED_HALF(first, second) \
    "ldmia r0!, {r4-r7}\n" \
    "muls r4, r2, r4\n" \
    "muls r5, r2, r5\n" \
    "muls r6, r3, r6\n" \
    "muls r7, r3, r7\n" \
    "adds r4, r4, r6\n" \
    "adds r5, r5, r7\n" \
    "ldmia r0!, {r6, r7}\n" \
    "adds r4, r4, r6\n" \
    "adds r5, r5, r7\n" \
    "asrs r4, r4, #16\n" \
    "asrs r5, r5, #16\n" \
    "add " first ", " first ", r4\n" \
    "add " second ", " second ", r5\n"
#define MOTE_JOINED_GROUP \
    "ldmia r1!, {r2}\n" \
    "mov r4, r12\n" \
    "lsrs r3, r2, #8\n" \
    "ands r3, r3, r4\n" \
    MOTE_JOINED_HALF("r8", "r9") \
    MOTE_JOINED_HALF("r10", "r11")

/* As MOTE_SWAR_CODE, with r12: 0x00FF00FF. On the stack behind that: the words of products that are left over. */
#define MOTE_JOINED_CODE(form, channel) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_joined_##form( \
        const mote_swar_frame_t *f __attribute__((unused)), int32_t groups __attribute__((unused)), \
        const uint32_t *words __attribute__((unused))) { \
        __asm__ volatile( \
            MOTE_SWAR_PUSH \
            "sub sp, sp, #40\n" \
            "str r2, [sp, #36]\n" \
            "subs r5, r1, #1\n" \
            MOTE_SWAR_LEFT_OUT \
            "lsls r5, r5, #6\n" \
            MOTE_SWAR_ENTRY \
            MOTE_SWAR_INPUTS \
            MOTE_SWAR_OUTPUTS \
            "2:\n" \
            "movs r2, #0xFF\n" \
            "lsls r3, r2, #16\n" \
            "orrs r2, r2, r3\n" \
            "mov r12, r2\n" \
            MOTE_SWAR_GROUPS(MOTE_JOINED_GROUP) \
            MOTE_SWAR_ROUND \
            "ldr r0, [sp, #36]\n" \
            MOTE_SWAR_LEFT_OVER \
            channel \
            "beq 6f\n" \
            "b 2b\n" \
            "6:\n" \
            "add sp, sp, #40\n" \
            MOTE_SWAR_POP); \
    }
MOTE_JOINED_CODE(plain32, MOTE_SWAR_PLAIN_CHANNEL)
#define mote_joined_plain32 mote_joined_plain32
MOTE_JOINED_CODE(linear32, MOTE_SWAR_LINEAR_CHANNEL)
#define mote_joined_linear32 mote_joined_linear32

#endif

#endif
