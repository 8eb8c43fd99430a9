/* mote_block_f32_vfp.h: mote_block_f32.h, which includes it, with products in registers of single numbers. */
#ifndef MOTE_BLOCK_F32_VFP_H
#define MOTE_BLOCK_F32_VFP_H

#include "mote_helium.h"
#include "mote_vfp.h"

#if MOTE_VFP && !MOTE_HELIUM_FLOAT
/* A product to each of two sums. A result that the next instruction needs would come a cycle late. */
#if MOTE_FUSED
#define MOTE_BLOCK_PAIR(a, b, x, u, y, v) \
    "vfma.f32 " a ", " x ", " u "\n\t" \
    "vfma.f32 " b ", " y ", " v "\n\t"
#else
#define MOTE_BLOCK_PAIR(a, b, x, u, y, v) \
    "vmul.f32 s28, " x ", " u "\n\t" \
    "vmul.f32 s29, " y ", " v "\n\t" \
    "vadd.f32 " a ", " a ", s28\n\t" \
    "vadd.f32 " b ", " b ", s29\n\t"
#endif

/* One product of four pixels and channels. */
#define MOTE_BLOCK_ALL(x0, x1, x2, x3) \
    MOTE_BLOCK_PAIR("s0", "s1", x0, "s24", x0, "s25") \
    MOTE_BLOCK_PAIR("s2", "s3", x0, "s26", x0, "s27") \
    MOTE_BLOCK_PAIR("s4", "s5", x1, "s24", x1, "s25") \
    MOTE_BLOCK_PAIR("s6", "s7", x1, "s26", x1, "s27") \
    MOTE_BLOCK_PAIR("s8", "s9", x2, "s24", x2, "s25") \
    MOTE_BLOCK_PAIR("s10", "s11", x2, "s26", x2, "s27") \
    MOTE_BLOCK_PAIR("s12", "s13", x3, "s24", x3, "s25") \
    MOTE_BLOCK_PAIR("s14", "s15", x3, "s26", x3, "s27")

/* The next weights of four channels, in s24 to s27, and the logarithm of the bytes that they take. */
#define MOTE_BLOCK_WEIGHTS_f32 "vldmia %[w]!, {s24-s27}\n\t"
#define MOTE_BLOCK_BYTES_f32 "4"

#define MOTE_BLOCK_TWICE(kind) \
    "vldmia %[x]!, {s16-s17}\n\t" \
    "vldmia %[x1]!, {s18-s19}\n\t" \
    "vldmia %[x2]!, {s20-s21}\n\t" \
    "vldmia %[x3]!, {s22-s23}\n\t" \
    MOTE_BLOCK_WEIGHTS_##kind MOTE_BLOCK_ALL("s16", "s18", "s20", "s22") \
    MOTE_BLOCK_WEIGHTS_##kind MOTE_BLOCK_ALL("s17", "s19", "s21", "s23")

#define MOTE_BLOCK_ALL_REGISTERS \
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", \
        "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31"

/* n products of four pixels and channels; n is zero or less afterwards. Labels 1 to 4. */
#define MOTE_BLOCK_SUM(kind) \
    "subs %[n], %[n], #4\n\t" \
    "blt 2f\n\t" \
    "1:\n\t" MOTE_BLOCK_TWICE(kind) MOTE_BLOCK_TWICE(kind) \
    "subs %[n], %[n], #4\n\t" \
    "bge 1b\n\t" \
    "2:\n\t" \
    "adds %[n], %[n], #2\n\t" \
    "blt 3f\n\t" MOTE_BLOCK_TWICE(kind) \
    "subs %[n], %[n], #2\n\t" \
    "3:\n\t" \
    "adds %[n], %[n], #1\n\t" \
    "bne 4f\n\t" \
    "vldr.32 s16, [%[x]]\n\t" \
    "vldr.32 s18, [%[x1]]\n\t" \
    "vldr.32 s20, [%[x2]]\n\t" \
    "vldr.32 s22, [%[x3]]\n\t" \
    MOTE_BLOCK_WEIGHTS_##kind MOTE_BLOCK_ALL("s16", "s18", "s20", "s22") \
    "4:\n\t"

#define MOTE_BLOCK_ONE(kind, x) \
    MOTE_BLOCK_WEIGHTS_##kind \
    MOTE_BLOCK_PAIR("s0", "s1", x, "s24", x, "s25") MOTE_BLOCK_PAIR("s2", "s3", x, "s26", x, "s27")

/* Products of four channels of one pixel, whose inputs begin at an address. */
#define MOTE_TAPS_ONE(x, a, b, c, d) \
    "vldmia " x ", {s16-s19}\n\t" \
    MOTE_BLOCK_PAIR(a, b, "s16", "s24", "s17", "s25") MOTE_BLOCK_PAIR(c, d, "s18", "s26", "s19", "s27")

/* The next row of the window, from its first column on; one that is not there is left out. Labels 5 and 6. */
#define MOTE_TAPS_ROW(kind) \
    "5:\n\t" \
    "ldr %[x], [%[rows]], #4\n\t" \
    "cmp %[x], #0\n\t" \
    "itt eq\n\t" \
    "addeq %[w], %[w], %[each], lsl #" MOTE_BLOCK_BYTES_##kind "\n\t" \
    "beq 6f\n\t" \
    "add %[x], %[x], %[start]\n\t" \
    "mov %[n], %[each]\n\t"

#define MOTE_BLOCK_VFP(kind, weight_t) \
    MOTE_ALWAYS_INLINE void mote_block4_##kind(const float *x, int32_t apart, const weight_t *w, int32_t n, \
                                               float *sums) { \
        const float *x1 = x + apart, *x2 = x1 + apart, *x3 = x2 + apart; \
        __asm__ volatile( \
            "vldmia %[sums], {s0-s15}\n\t" MOTE_BLOCK_SUM(kind) \
            "vstmia %[sums], {s0-s15}\n\t" \
            : [x] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] "+&r"(w), [n] "+&r"(n) \
            : [sums] "r"(sums) \
            : MOTE_BLOCK_ALL_REGISTERS, "cc", "memory"); \
    } \
\
    MOTE_ALWAYS_INLINE void mote_block4_rows_##kind(const float *const *rows, int32_t count, int32_t start, \
                                                    int32_t apart, const weight_t *w, int32_t each, float *sums) { \
        const float *x, *x1, *x2, *x3; \
        int32_t n; \
        __asm__ volatile( \
            "vldmia %[sums], {s0-s15}\n\t" \
            "5:\n\t" \
            "ldr %[x], [%[rows]], #4\n\t" \
            "cmp %[x], #0\n\t" \
            "itt eq\n\t" \
            "addeq %[w], %[w], %[each], lsl #" MOTE_BLOCK_BYTES_##kind "\n\t" \
            "beq 6f\n\t" \
            "add %[x], %[x], %[start]\n\t" \
            "add %[x1], %[x], %[apart]\n\t" \
            "add %[x2], %[x1], %[apart]\n\t" \
            "add %[x3], %[x2], %[apart]\n\t" \
            "mov %[n], %[each]\n\t" MOTE_BLOCK_SUM(kind) \
            "6:\n\t" \
            "subs %[count], %[count], #1\n\t" \
            "bne 5b\n\t" \
            "vstmia %[sums], {s0-s15}\n\t" \
            : [x] "=&r"(x), [x1] "=&r"(x1), [x2] "=&r"(x2), [x3] "=&r"(x3), [n] "=&r"(n), [w] "+&r"(w), \
              [rows] "+&r"(rows), [count] "+&r"(count) \
            : [each] "r"(each), [start] "r"(4 * start), [apart] "r"(4 * apart), [sums] "r"(sums) \
            : MOTE_BLOCK_ALL_REGISTERS, "cc", "memory"); \
    } \
\
    MOTE_ALWAYS_INLINE void mote_block1_##kind(const float *x, const weight_t *w, int32_t n, float *sums) { \
        __asm__ volatile( \
            "vldmia %[sums], {s0-s3}\n\t" \
            "subs %[n], %[n], #4\n\t" \
            "blt 2f\n\t" \
            "1:\n\t" \
            "vldmia %[x]!, {s16-s19}\n\t" MOTE_BLOCK_ONE(kind, "s16") MOTE_BLOCK_ONE(kind, "s17") \
                MOTE_BLOCK_ONE(kind, "s18") MOTE_BLOCK_ONE(kind, "s19") \
            "subs %[n], %[n], #4\n\t" \
            "bge 1b\n\t" \
            "2:\n\t" \
            "adds %[n], %[n], #3\n\t" \
            "blt 4f\n\t" \
            "3:\n\t" \
            "vldmia %[x]!, {s16}\n\t" MOTE_BLOCK_ONE(kind, "s16") \
            "subs %[n], %[n], #1\n\t" \
            "bge 3b\n\t" \
            "4:\n\t" \
            "vstmia %[sums], {s0-s3}\n\t" \
            : [x] "+&r"(x), [w] "+&r"(w), [n] "+&r"(n) \
            : [sums] "r"(sums) \
            : MOTE_FOUR_REGISTERS, "s30", "s31"); \
    } \
\
    MOTE_ALWAYS_INLINE void mote_taps4_rows_##kind(const float *const *rows, int32_t count, int32_t start, \
                                                   int32_t apart, int32_t step, const weight_t *w, int32_t each, \
                                                   float *sums) { \
        const float *x, *y; \
        int32_t n; \
        __asm__ volatile( \
            "vldmia %[sums], {s0-s15}\n\t" MOTE_TAPS_ROW(kind) \
            "1:\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind \
            "add %[y], %[x], %[apart]\n\t" MOTE_TAPS_ONE("%[x]", "s0", "s1", "s2", "s3") \
            "add %[x], %[x], %[step]\n\t" MOTE_TAPS_ONE("%[y]", "s4", "s5", "s6", "s7") \
            "add %[y], %[y], %[apart]\n\t" MOTE_TAPS_ONE("%[y]", "s8", "s9", "s10", "s11") \
            "add %[y], %[y], %[apart]\n\t" MOTE_TAPS_ONE("%[y]", "s12", "s13", "s14", "s15") \
            "subs %[n], %[n], #1\n\t" \
            "bne 1b\n\t" \
            "6:\n\t" \
            "subs %[count], %[count], #1\n\t" \
            "bne 5b\n\t" \
            "vstmia %[sums], {s0-s15}\n\t" \
            : [x] "=&r"(x), [y] "=&r"(y), [n] "=&r"(n), [w] "+&r"(w), [rows] "+&r"(rows), [count] "+&r"(count) \
            : [each] "r"(each), [start] "r"(4 * start), [apart] "r"(4 * apart), [step] "r"(4 * step), [sums] "r"(sums) \
            : MOTE_BLOCK_ALL_REGISTERS, "cc", "memory"); \
    } \
\
    MOTE_ALWAYS_INLINE void mote_taps1_rows_##kind(const float *const *rows, int32_t count, int32_t start, \
                                                   int32_t step, const weight_t *w, int32_t each, int32_t left_out, \
                                                   float *sums) { \
        const float *x; \
        int32_t n; \
        __asm__ volatile( \
            "vldmia %[sums], {s0-s3}\n\t" MOTE_TAPS_ROW(kind) \
            "1:\n\t" \
            MOTE_BLOCK_WEIGHTS_##kind MOTE_TAPS_ONE("%[x]", "s0", "s1", "s2", "s3") \
            "add %[x], %[x], %[step]\n\t" \
            "subs %[n], %[n], #1\n\t" \
            "bne 1b\n\t" \
            "6:\n\t" \
            "add %[w], %[w], %[left_out], lsl #" MOTE_BLOCK_BYTES_##kind "\n\t" \
            "subs %[count], %[count], #1\n\t" \
            "bne 5b\n\t" \
            "vstmia %[sums], {s0-s3}\n\t" \
            : [x] "=&r"(x), [n] "=&r"(n), [w] "+&r"(w), [rows] "+&r"(rows), [count] "+&r"(count) \
            : [each] "r"(each), [start] "r"(4 * start), [step] "r"(4 * step), [left_out] "r"(left_out), \
              [sums] "r"(sums) \
            : MOTE_FOUR_REGISTERS, "s30", "s31"); \
    }

MOTE_BLOCK_VFP(f32, float)

MOTE_ALWAYS_INLINE void mote_block_finish(float *sums, const float *bias, float low, float high, float *out,
                                          int32_t channels, int32_t pixels) {
    int32_t c = 0, d;
    __asm__ volatile(
        "vldmia %[bias], {s16-s19}\n\t"
        "vmov s24, s25, %[c], %[c]\n\t"
        "vmov s26, s27, %[c], %[c]\n\t"
        "1:\n\t"
        "vldmia %[sums], {s0-s3}\n\t"
        "vstmia %[sums]!, {s24-s27}\n\t"
        "vadd.f32 s0, s0, s16\n\t"
        "vadd.f32 s1, s1, s17\n\t"
        "vadd.f32 s2, s2, s18\n\t"
        "vadd.f32 s3, s3, s19\n\t" MOTE_FOUR_ACTIVATE
        "add %[out], %[out], %[step]\n\t"
        "subs %[pixels], %[pixels], #1\n\t"
        "bne 1b\n\t"
        : [sums] "+&r"(sums), [out] "+&r"(out), [pixels] "+&r"(pixels), [c] "+&r"(c), [d] "=&r"(d)
        : MOTE_FOUR_OPERANDS(low, high), [bias] "r"(bias), [step] "r"(4 * channels)
        : MOTE_FOUR_REGISTERS);
}
#define mote_block4_f32 mote_block4_f32
#define mote_block4_rows_f32 mote_block4_rows_f32
#endif

#endif
