/* mote_softmax_run_s8_helium.h: mote_softmax_run_s8.h, which includes it, with vectors. */
#ifndef MOTE_SOFTMAX_RUN_S8_HELIUM_H
#define MOTE_SOFTMAX_RUN_S8_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
static inline uint32_t mote_softmax_sum(const int32_t *exp, int32_t max, const int8_t *x, int32_t n) {
    uint32_t sum = 0;
    __asm__("mov r12, #2048\n\t"
            "vdup.32 q3, %4\n\t"
            "wlstp.32 lr, %3, 2f\n"
            "1:\n\t"
            "vldrb.s32 q0, [%1], #4\n\t"
            "vsub.i32 q0, q3, q0\n\t"
            "vldrw.u32 q1, [%2, q0, uxtw #2]\n\t"
            "vadd.i32 q1, q1, r12\n\t"
            "vshr.u32 q1, q1, #12\n\t"
            "vaddva.u32 %0, q1\n\t"
            "letp lr, 1b\n"
            "2:\n\t"
            : "+Te"(sum), "+l"(x)
            : "r"(exp), "r"(n), "r"(max)
            : "lr", "r12", "q0", "q1", "q3", "cc", "memory");
    return sum;
}
#define mote_softmax_sum mote_softmax_sum

static inline void mote_softmax_shares(const int32_t *exp, int32_t max, const int8_t *x, int32_t n, int32_t scale,
                                       int32_t shift, int8_t *out) {
    __asm__ volatile("vmov.i32 q2, #255\n\t"
                     "vdup.32 q3, %4\n\t"
                     "mov r12, #128\n\t"
                     "wlstp.32 lr, %3, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [%0], #4\n\t"
                     "vsub.i32 q0, q3, q0\n\t"
                     "vldrw.u32 q1, [%2, q0, uxtw #2]\n\t"
                     "vqrdmulh.s32 q1, q1, %5\n\t"
                     "vrshl.s32 q1, %6\n\t"
                     "vmin.s32 q1, q1, q2\n\t"
                     "vsub.i32 q1, q1, r12\n\t"
                     "vstrb.32 q1, [%1], #4\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     : "+l"(x), "+l"(out)
                     : "r"(exp), "r"(n), "r"(max), "r"(scale), "r"(-shift - 1)
                     : "lr", "r12", "q0", "q1", "q2", "q3", "cc", "memory");
}
#define mote_softmax_shares mote_softmax_shares
#endif

#endif
