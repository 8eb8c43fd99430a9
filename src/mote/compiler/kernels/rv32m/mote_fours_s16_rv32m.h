/* mote_fours_s16_rv32m.h: mote_fours_s16.h, which includes it, on RISC-V with the M extension. */
#ifndef MOTE_FOURS_S16_RV32M_H
#define MOTE_FOURS_S16_RV32M_H

#include "mote_compiler.h"

#if defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_mul) && !defined(__riscv_32e) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)

/* One input of four pixels and of two channels; two words are added at a time, so that no product waits for another. */
#define MOTE_FOURS_S16_PIXEL(at, a, b) \
    "lw %[x], " at "(%[from])\n\t" \
    "mul %[p], %[x], %[u]\n\t" \
    "mul %[q], %[x], %[t]\n\t" \
    "add %[" a "], %[" a "], %[p]\n\t" \
    "add %[" b "], %[" b "], %[q]\n\t"
#define MOTE_FOURS_S16_INPUT(i, x0, x1, x2, x3) \
    "lb %[u], " i "(%[v])\n\t" \
    "lb %[t], " i "(%[w])\n\t" \
    MOTE_FOURS_S16_PIXEL(x0, "a", "e") MOTE_FOURS_S16_PIXEL(x1, "b", "f") \
    MOTE_FOURS_S16_PIXEL(x2, "c", "g") MOTE_FOURS_S16_PIXEL(x3, "d", "h")

/* The sums of two channels, whose weights are `pitch` words apart: 22 instructions for eight products. */
MOTE_NOINLINE void mote_fours_s16_two(const int32_t *x, const int32_t *end, const int32_t *weights, int32_t pitch,
                                      int32_t *sums) {
    const int32_t *v = weights, *w = weights + pitch;
    int32_t a = sums[0], b = sums[1], c = sums[2], d = sums[3], e = sums[4], f = sums[5], g = sums[6], h = sums[7];
    int32_t one, u, t, p, q;
    __asm__ volatile("1:\n\t"
                     MOTE_FOURS_S16_INPUT("0", "0", "4", "8", "12")
                     MOTE_FOURS_S16_INPUT("1", "16", "20", "24", "28")
                     MOTE_FOURS_S16_INPUT("2", "32", "36", "40", "44")
                     MOTE_FOURS_S16_INPUT("3", "48", "52", "56", "60")
                     "addi %[v], %[v], 4\n\t"
                     "addi %[w], %[w], 4\n\t"
                     "addi %[from], %[from], 64\n\t"
                     "bne %[from], %[end], 1b\n"
                     : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [e] "+r"(e), [f] "+r"(f), [g] "+r"(g),
                       [h] "+r"(h), [from] "+r"(x), [v] "+r"(v), [w] "+r"(w), [x] "=&r"(one), [u] "=&r"(u),
                       [t] "=&r"(t), [p] "=&r"(p), [q] "=&r"(q)
                     : [end] "r"(end)
                     : "memory");
    sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d, sums[4] = e, sums[5] = f, sums[6] = g, sums[7] = h;
}
#define mote_fours_s16_two mote_fours_s16_two
#endif

#endif
