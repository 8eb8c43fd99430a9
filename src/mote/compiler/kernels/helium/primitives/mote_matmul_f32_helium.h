/* mote_matmul_f32_helium.h: mote_matmul_f32.h, which includes it, with a lane for each column. */
#ifndef MOTE_MATMUL_F32_HELIUM_H
#define MOTE_MATMUL_F32_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM_FLOAT
/* One product of each column; `at` is where their elements lie. */
#define MOTE_MATMUL_LANES(at, x) \
    "vldrw.u32 q1, [" at "]\n\t" \
    "add %[b], %[b], %[step]\n\t" \
    "vfma.f32 q0, q1, " x "\n\t"

/* n products of each of four columns: 14 instructions for sixteen. `more` begins with what `at` needs. */
#define MOTE_MATMUL_RUN(more, at) \
    __asm__ volatile("vldrw.u32 q0, [%[sums]]\n\t" more "wls lr, %[fours], 2f\n\t" \
                     "1:\n\t" \
                     "ldm %[a]!, {r2, r3, r4, r5}\n\t" MOTE_MATMUL_LANES(at, "r2") MOTE_MATMUL_LANES(at, "r3") \
                         MOTE_MATMUL_LANES(at, "r4") MOTE_MATMUL_LANES(at, "r5") "le lr, 1b\n\t" \
                     "2:\n\t" \
                     "vstrw.32 q0, [%[sums]]\n\t" \
                     : [a] "+&r"(a), [b] "+&r"(b) \
                     : [sums] "r"(sums), [step] "r"(4 * step), [fours] "r"(n / 4), [first] "r"(first) \
                     : "lr", "r2", "r3", "r4", "r5", "q0", "q1", "q2", "cc", "memory")

/* Columns whose elements lie one after another as well. */
MOTE_ALWAYS_INLINE int32_t mote_matmul_along_f32(const float *a, const float *b, int32_t line, int32_t n, float *sums) {
    const int32_t first[4] = {0, line, 2 * line, 3 * line}, step = 1;
    MOTE_MATMUL_RUN("vldrw.u32 q2, [%[first]]\n\t", "%[b], q2, uxtw #2");
    return n / 4 * 4;
}

/* Columns beside one another: their elements lie `step` elements behind one another. */
MOTE_ALWAYS_INLINE int32_t mote_matmul_across_f32(const float *a, const float *b, int32_t step, int32_t n, float *sums) {
    const int32_t first = 0;
    MOTE_MATMUL_RUN("", "%[b]");
    return n / 4 * 4;
}
#define mote_matmul_along_f32 mote_matmul_along_f32
#endif

#endif
