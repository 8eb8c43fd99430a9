/* mote_matmul_s8_dsp.h: mote_matmul_s8.h with DSP instructions, four products at a time. */
#ifndef MOTE_MATMUL_S8_DSP_H
#define MOTE_MATMUL_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
static inline int32_t mote_matmul_four_s8(uint32_t even, uint32_t odd, uint32_t words, int32_t sum) {
    uint32_t first, second;
    __asm__("sxtb16 %0, %1" : "=r"(first) : "r"(words));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(second) : "r"(words));
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(even), "r"(first));
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(odd), "r"(second));
    return sum;
}

static inline int32_t mote_matmul_run_s8(const int8_t *a, const int8_t *b, int32_t line, int32_t n, int32_t zero,
                                         int32_t *sums, int32_t *all) {
    const int8_t *const b1 = b + line, *const b2 = b1 + line, *const b3 = b2 + line;
    const uint32_t minus_zero = (uint32_t)(-zero & 0xffff) * 0x10001u;
    const int32_t end = n & ~3;
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0, total = 0;
    for (int32_t k = 0; k < end; k += 4) {
        const uint32_t xs = mote_load4(a + k);
        uint32_t even, odd;
        __asm__("sxtab16 %0, %1, %2" : "=r"(even) : "r"(minus_zero), "r"(xs));
        __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(odd) : "r"(minus_zero), "r"(xs));
        __asm__("smlad %0, %1, %2, %0" : "+r"(total) : "r"(even), "r"(0x10001u));
        __asm__("smlad %0, %1, %2, %0" : "+r"(total) : "r"(odd), "r"(0x10001u));
        s0 = mote_matmul_four_s8(even, odd, mote_load4(b + k), s0);
        s1 = mote_matmul_four_s8(even, odd, mote_load4(b1 + k), s1);
        s2 = mote_matmul_four_s8(even, odd, mote_load4(b2 + k), s2);
        s3 = mote_matmul_four_s8(even, odd, mote_load4(b3 + k), s3);
    }
    sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
    *all = total;
    return end;
}
#define mote_matmul_run_s8 mote_matmul_run_s8
#endif

#endif
