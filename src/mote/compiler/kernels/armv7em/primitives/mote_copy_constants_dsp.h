/* mote_copy_constants_dsp.h: mote_copy_constants.h on cores that load and store eight registers at once. */
#ifndef MOTE_COPY_CONSTANTS_DSP_H
#define MOTE_COPY_CONSTANTS_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline void mote_copy_blocks(uint32_t *to, const uint32_t *from, size_t blocks) {
    if (blocks > 0u) { /* 40 cycles of a Cortex-M4 for a block */
        __asm__ volatile("1:\n\t"
                         "ldm %1!, {r3-r6, r8-r10, r12}\n\t"
                         "stm %0!, {r3-r6, r8-r10, r12}\n\t"
                         "ldm %1!, {r3-r6, r8-r10, r12}\n\t"
                         "stm %0!, {r3-r6, r8-r10, r12}\n\t"
                         "subs %2, %2, #1\n\t"
                         "bne 1b\n\t"
                         : "+r"(to), "+r"(from), "+r"(blocks)
                         :
                         : "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "cc", "memory");
    }
}
#define mote_copy_blocks mote_copy_blocks
#endif

#endif
