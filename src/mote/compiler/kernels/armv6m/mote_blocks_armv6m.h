/* mote_blocks_armv6m.h: mote_blocks.h on cores with 16-bit instructions only. */
#ifndef MOTE_BLOCKS_ARMV6M_H
#define MOTE_BLOCKS_ARMV6M_H

#include "mote_swar_armv6m.h"

#ifdef MOTE_SWAR_PUSH

/* 43 cycles for 16 products. r6: 0x00FF00FF, r12: the last word of a group. */
#define MOTE_BLOCKS_JOINED(word, sum) \
    "lsrs r5, " word ", #8\n" \
    "ands r5, r5, r6\n" \
    "muls " word ", r2, " word "\n" \
    "muls r5, r3, r5\n" \
    "adds " word ", " word ", r5\n" \
    "add " word ", " word ", r12\n" \
    "asrs " word ", " word ", #16\n" \
    "add " sum ", " sum ", " word "\n"
#define MOTE_BLOCKS_JOINED_FOUR \
    "ldmia r0!, {r2-r4}\n" \
    "mov r12, r4\n" \
    "ldmia r1!, {r4, r7}\n" \
    MOTE_BLOCKS_JOINED("r4", "r8") \
    MOTE_BLOCKS_JOINED("r7", "r9") \
    "ldmia r1!, {r4, r7}\n" \
    MOTE_BLOCKS_JOINED("r4", "r10") \
    MOTE_BLOCKS_JOINED("r7", "r11")
MOTE_SWAR_SUMS(mote_blocks_joined4x4, MOTE_SWAR_BYTES, MOTE_BLOCKS_JOINED_FOUR)
#define mote_blocks_joined4x4 mote_blocks_joined4x4

/* 37 cycles for 16 products. r12: half of 2^16. */
#define MOTE_BLOCKS_WORDS(first, second) \
    "ldmia r1!, {r4-r7}\n" \
    "muls r4, r2, r4\n" \
    "muls r5, r3, r5\n" \
    "muls r6, r2, r6\n" \
    "muls r7, r3, r7\n" \
    "adds r4, r4, r5\n" \
    "adds r6, r6, r7\n" \
    "add r4, r4, r12\n" \
    "add r6, r6, r12\n" \
    "asrs r4, r4, #16\n" \
    "asrs r6, r6, #16\n" \
    "add " first ", " first ", r4\n" \
    "add " second ", " second ", r6\n"
#define MOTE_BLOCKS_WORDS_FOUR \
    "ldmia r0!, {r2, r3}\n" MOTE_BLOCKS_WORDS("r8", "r9") MOTE_BLOCKS_WORDS("r10", "r11")
MOTE_SWAR_SUMS(mote_blocks_words4x4, "movs r4, #128\nlsls r4, r4, #8\nmov r12, r4\n", MOTE_BLOCKS_WORDS_FOUR)
#define mote_blocks_words4x4 mote_blocks_words4x4

#endif

#endif
