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
            "movs r6, #7\n" \
            "ands r5, r5, r6\n" \
            "subs r5, r6, r5\n" \
            "lsls r5, r5, #6\n" \
            "adr r6, 3f\n" \
            "adds r5, r5, r6\n" \
            "str r5, [sp, #4]\n" \
            "ldmia r0!, {r1-r4}\n" \
            "str r1, [sp]\n" \
            "str r2, [sp, #28]\n" \
            "mov lr, r2\n" \
            "rsbs r4, r4, #0\n" \
            "str r4, [sp, #8]\n" \
            "mov r1, r3\n" \
            "ldmia r0!, {r4-r7}\n" \
            "add r0, sp, #12\n" \
            "stmia r0!, {r4-r7}\n" \
            "2:\n" \
            "movs r2, #0xFF\n" \
            "lsls r3, r2, #16\n" \
            "orrs r2, r2, r3\n" \
            "mov r12, r2\n" \
            "ldr r0, [sp]\n" \
            "ldr r2, [sp, #4]\n" \
            "ldmia r1!, {r3}\n" \
            "mov r8, r3\n" \
            "mov r9, r3\n" \
            "mov r10, r3\n" \
            "mov r11, r3\n" \
            "mov pc, r2\n" \
            ".balign 4\n" \
            "3:\n" \
            MOTE_JOINED_GROUP MOTE_JOINED_GROUP MOTE_JOINED_GROUP MOTE_JOINED_GROUP \
            MOTE_JOINED_GROUP MOTE_JOINED_GROUP MOTE_JOINED_GROUP MOTE_JOINED_GROUP \
            "cmp r0, lr\n" \
            "beq 9f\n" \
            "b 3b\n" \
            "9:\n" \
            "ldmia r1!, {r2}\n" \
            "cmp r2, #0\n" \
            "beq 5f\n" \
            "lsls r2, r2, #3\n" \
            "adds r2, r2, r1\n" \
            "mov lr, r2\n" \
            "movs r2, #128\n" \
            "lsls r2, r2, #8\n" \
            "mov r12, r2\n" \
            "ldr r0, [sp, #36]\n" \
            "4:\n" \
            "ldmia r1!, {r2, r3}\n" \
            "adds r2, r2, r0\n" \
            MOTE_SWAR_LEFT("r8", "0") \
            MOTE_SWAR_LEFT("r9", "4") \
            MOTE_SWAR_LEFT("r10", "16") \
            MOTE_SWAR_LEFT("r11", "20") \
            "cmp r1, lr\n" \
            "bne 4b\n" \
            "5:\n" \
            "ldmia r1!, {r2-r6}\n" \
            "mov lr, r2\n" \
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
