/* mote_clear_dsp.h: mote_clear.h on cores that store several registers at once. */
#ifndef MOTE_CLEAR_DSP_H
#define MOTE_CLEAR_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline void mote_clear(int8_t *to, int32_t bytes) {
    int32_t blocks = bytes >> 5;
    int8_t *p = to;
    if (blocks > 0) {
        __asm__ volatile("movs r4, #0\n\t"
                         "movs r5, #0\n\t"
                         "movs r6, #0\n\t"
                         "mov r8, r4\n"
                         "1:\n\t"
                         "stm %0!, {r4-r6, r8}\n\t"
                         "stm %0!, {r4-r6, r8}\n\t"
                         "subs %1, %1, #1\n\t"
                         "bne 1b\n\t"
                         : "+r"(p), "+r"(blocks)
                         :
                         : "r4", "r5", "r6", "r8", "cc", "memory");
    }
    for (; p < to + bytes; p += 4) {
        *(uint32_t *)(void *)p = 0;
    }
}
#define mote_clear mote_clear
#endif

#endif
