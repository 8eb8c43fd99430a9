/* mote_matmul_f32_vfp.h: mote_matmul_f32.h, which includes it, with products in registers of single numbers. */
#ifndef MOTE_MATMUL_F32_VFP_H
#define MOTE_MATMUL_F32_VFP_H

#include "mote_helium.h"
#include "mote_vfp.h"

#if MOTE_VFP && !MOTE_HELIUM_FLOAT
/* One product of each column. */
#define MOTE_MATMUL_FOUR(x, w0, w1, w2, w3) \
    MOTE_BLOCK_PAIR("s0", "s1", x, w0, x, w1) MOTE_BLOCK_PAIR("s2", "s3", x, w2, x, w3)

/* What each function uses. */
#define MOTE_MATMUL_ACROSS "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s28", "s29"
#define MOTE_MATMUL_ALONG \
    MOTE_MATMUL_ACROSS, "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23"

/* Columns whose elements lie one after another as well. */
MOTE_ALWAYS_INLINE int32_t mote_matmul_along_f32(const float *a, const float *b, int32_t line, int32_t n, float *sums) {
    const float *b1 = b + line, *b2 = b1 + line, *b3 = b2 + line;
    int32_t fours = n / 4;
    if (fours > 0) {
        __asm__ volatile(
            "vldmia %[sums], {s0-s3}\n\t"
            "1:\n\t"
            "vldmia %[a]!, {s4-s7}\n\t"
            "vldmia %[b]!, {s8-s11}\n\t"
            "vldmia %[b1]!, {s12-s15}\n\t"
            "vldmia %[b2]!, {s16-s19}\n\t"
            "vldmia %[b3]!, {s20-s23}\n\t" MOTE_MATMUL_FOUR("s4", "s8", "s12", "s16", "s20")
                MOTE_MATMUL_FOUR("s5", "s9", "s13", "s17", "s21") MOTE_MATMUL_FOUR("s6", "s10", "s14", "s18", "s22")
                    MOTE_MATMUL_FOUR("s7", "s11", "s15", "s19", "s23")
            "subs %[fours], %[fours], #1\n\t"
            "bne 1b\n\t"
            "vstmia %[sums], {s0-s3}\n\t"
            : [a] "+&r"(a), [b] "+&r"(b), [b1] "+&r"(b1), [b2] "+&r"(b2), [b3] "+&r"(b3), [fours] "+&r"(fours)
            : [sums] "r"(sums)
            : MOTE_MATMUL_ALONG, "cc", "memory");
    }
    return n / 4 * 4;
}

/* Columns beside one another: their elements lie `step` elements behind one another. */
MOTE_ALWAYS_INLINE int32_t mote_matmul_across_f32(const float *a, const float *b, int32_t step, int32_t n, float *sums) {
    int32_t fours = n / 4;
    if (fours > 0) {
        __asm__ volatile(
            "vldmia %[sums], {s0-s3}\n\t"
            "1:\n\t"
            "vldmia %[a]!, {s4-s7}\n\t"
            "vldmia %[b], {s8-s11}\n\t"
            "add %[b], %[b], %[step]\n\t" MOTE_MATMUL_FOUR("s4", "s8", "s9", "s10", "s11")
            "vldmia %[b], {s8-s11}\n\t"
            "add %[b], %[b], %[step]\n\t" MOTE_MATMUL_FOUR("s5", "s8", "s9", "s10", "s11")
            "vldmia %[b], {s8-s11}\n\t"
            "add %[b], %[b], %[step]\n\t" MOTE_MATMUL_FOUR("s6", "s8", "s9", "s10", "s11")
            "vldmia %[b], {s8-s11}\n\t"
            "add %[b], %[b], %[step]\n\t" MOTE_MATMUL_FOUR("s7", "s8", "s9", "s10", "s11")
            "subs %[fours], %[fours], #1\n\t"
            "bne 1b\n\t"
            "vstmia %[sums], {s0-s3}\n\t"
            : [a] "+&r"(a), [b] "+&r"(b), [fours] "+&r"(fours)
            : [sums] "r"(sums), [step] "r"(4 * step)
            : MOTE_MATMUL_ACROSS, "cc", "memory");
    }
    return n / 4 * 4;
}
#define mote_matmul_along_f32 mote_matmul_along_f32
#endif

#endif
