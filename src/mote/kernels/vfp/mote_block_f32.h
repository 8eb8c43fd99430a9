/* mote_block_f32.h: sums of float32 products, four pixels by four channels at once.
 *
 * Every product is added to the sum of its output, one after another in the order of the reference, so that results do
 * not depend on how many outputs are computed at once. Whether a product is rounded before it is added is the core's
 * affair: see mote_add_product_f32.
 *
 *   x        the inputs of the first pixel; those of the others lie `apart` elements behind one another
 *   w        weights, those of four channels side by side
 *   n        how many products are added to each sum, at least one
 *   sums     four of each pixel, channels side by side
 *
 * `mote_block...` adds up over inputs that lie side by side and go into all four channels, `mote_taps...` over columns
 * that lie `step` elements behind one another and whose channels do not mix. `..._rows` goes through the rows of a window, NULL
 * where it hangs over the image's edge: of each, `each` inputs or columns from element `start` on, and after their weights those
 * of as many columns that are `left_out`. `mote_block_finish` makes outputs of the sums, pixels `channels` elements behind one
 * another, and zeros of the sums.
 */
#ifndef MOTE_BLOCK_F32_H
#define MOTE_BLOCK_F32_H

#include "mote_fours_f32.h"

#define MOTE_BLOCK 4 /* pixels, and channels */

#if MOTE_HELIUM_FLOAT

/* A register holds the sums of a pixel. Here two of them get two products each. */
#define MOTE_BLOCK_TWO(x, y, q, r) \
    "ldrd %[a], %[b], [" x "], #8\n\t" \
    "ldrd %[c], %[d], [" y "], #8\n\t" \
    "vfma.f32 " q ", q4, %[a]\n\t" \
    "vfma.f32 " r ", q4, %[c]\n\t" \
    "vfma.f32 " q ", q5, %[b]\n\t" \
    "vfma.f32 " r ", q5, %[d]\n\t"

#define MOTE_BLOCK_LOAD_SUMS \
    "vldrw.u32 q0, [%[sums]]\n\t" \
    "vldrw.u32 q1, [%[sums], #16]\n\t" \
    "vldrw.u32 q2, [%[sums], #32]\n\t" \
    "vldrw.u32 q3, [%[sums], #48]\n\t"

#define MOTE_BLOCK_STORE_SUMS \
    "vstrw.32 q0, [%[sums]]\n\t" \
    "vstrw.32 q1, [%[sums], #16]\n\t" \
    "vstrw.32 q2, [%[sums], #32]\n\t" \
    "vstrw.32 q3, [%[sums], #48]\n\t"

MOTE_ALWAYS_INLINE void mote_block4_f32(const float *x, int32_t apart, const float *w, int32_t n, float *sums) {
    const float *x1 = x + apart, *x2 = x1 + apart, *x3 = x2 + apart;
    int32_t a, b, c, d;
    __asm__ volatile(
        MOTE_BLOCK_LOAD_SUMS
        "lsr %[a], %[n], #1\n\t"
        "wls lr, %[a], 2f\n\t"
        "1:\n\t"
        "vldrw.u32 q4, [%[w]], #16\n\t"
        "vldrw.u32 q5, [%[w]], #16\n\t" MOTE_BLOCK_TWO("%[x]", "%[x1]", "q0", "q1")
            MOTE_BLOCK_TWO("%[x2]", "%[x3]", "q2", "q3") "le lr, 1b\n\t"
        "2:\n\t"
        "tst %[n], #1\n\t"
        "beq 3f\n\t"
        "vldrw.u32 q4, [%[w]], #16\n\t"
        "ldr %[a], [%[x]]\n\t"
        "ldr %[b], [%[x1]]\n\t"
        "ldr %[c], [%[x2]]\n\t"
        "ldr %[d], [%[x3]]\n\t"
        "vfma.f32 q0, q4, %[a]\n\t"
        "vfma.f32 q1, q4, %[b]\n\t"
        "vfma.f32 q2, q4, %[c]\n\t"
        "vfma.f32 q3, q4, %[d]\n\t"
        "3:\n\t" MOTE_BLOCK_STORE_SUMS
        : [x] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] "+&r"(w), [a] "=&r"(a), [b] "=&r"(b),
          [c] "=&r"(c), [d] "=&r"(d)
        : [n] "r"(n), [sums] "r"(sums)
        : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_block1_f32(const float *x, const float *w, int32_t n, float *sums) {
    int32_t a, b;
    __asm__ volatile(
        "vldrw.u32 q0, [%[sums]]\n\t"
        "lsr %[a], %[n], #1\n\t"
        "wls lr, %[a], 2f\n\t"
        "1:\n\t"
        "ldrd %[a], %[b], [%[x]], #8\n\t"
        "vldrw.u32 q4, [%[w]], #16\n\t"
        "vfma.f32 q0, q4, %[a]\n\t"
        "vldrw.u32 q5, [%[w]], #16\n\t"
        "vfma.f32 q0, q5, %[b]\n\t"
        "le lr, 1b\n\t"
        "2:\n\t"
        "tst %[n], #1\n\t"
        "beq 3f\n\t"
        "ldr %[a], [%[x]]\n\t"
        "vldrw.u32 q4, [%[w]], #16\n\t"
        "vfma.f32 q0, q4, %[a]\n\t"
        "3:\n\t"
        "vstrw.32 q0, [%[sums]]\n\t"
        : [x] "+&r"(x), [w] "+&r"(w), [a] "=&r"(a), [b] "=&r"(b)
        : [n] "r"(n), [sums] "r"(sums)
        : "lr", "q0", "q4", "q5", "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_taps4_f32(const float *x, int32_t apart, int32_t step, const float *w, int32_t n,
                                       float *sums) {
    const float *x1 = x + apart, *x2 = x1 + apart, *x3 = x2 + apart;
    __asm__ volatile(
        MOTE_BLOCK_LOAD_SUMS
        "dls lr, %[n]\n\t"
        "1:\n\t"
        "vldrw.u32 q4, [%[w]], #16\n\t"
        "vldrw.u32 q5, [%[x]]\n\t"
        "add %[x], %[x], %[step]\n\t"
        "vfma.f32 q0, q4, q5\n\t"
        "vldrw.u32 q6, [%[x1]]\n\t"
        "add %[x1], %[x1], %[step]\n\t"
        "vfma.f32 q1, q4, q6\n\t"
        "vldrw.u32 q5, [%[x2]]\n\t"
        "add %[x2], %[x2], %[step]\n\t"
        "vfma.f32 q2, q4, q5\n\t"
        "vldrw.u32 q6, [%[x3]]\n\t"
        "add %[x3], %[x3], %[step]\n\t"
        "vfma.f32 q3, q4, q6\n\t"
        "le lr, 1b\n\t" MOTE_BLOCK_STORE_SUMS
        : [x] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] "+&r"(w)
        : [step] "r"(4 * step), [n] "r"(n), [sums] "r"(sums)
        : "lr", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_taps1_f32(const float *x, int32_t step, const float *w, int32_t n, float *sums) {
    __asm__ volatile(
        "vldrw.u32 q0, [%[sums]]\n\t"
        "dls lr, %[n]\n\t"
        "1:\n\t"
        "vldrw.u32 q4, [%[w]], #16\n\t"
        "vldrw.u32 q5, [%[x]]\n\t"
        "add %[x], %[x], %[step]\n\t"
        "vfma.f32 q0, q4, q5\n\t"
        "le lr, 1b\n\t"
        "vstrw.32 q0, [%[sums]]\n\t"
        : [x] "+&r"(x), [w] "+&r"(w)
        : [step] "r"(4 * step), [n] "r"(n), [sums] "r"(sums)
        : "lr", "q0", "q4", "q5", "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_block_finish(float *sums, const float *bias, float low, float high, float *out,
                                          int32_t channels, int32_t pixels) {
    __asm__ volatile(
        "vldrw.u32 q1, [%[bias]]\n\t"
        "vdup.32 q2, %[low]\n\t"
        "vdup.32 q3, %[high]\n\t"
        "vmov.i32 q4, #0\n\t"
        "dls lr, %[pixels]\n\t"
        "1:\n\t"
        "vldrw.u32 q0, [%[sums]]\n\t"
        "vstrw.32 q4, [%[sums]], #16\n\t"
        "vadd.f32 q0, q0, q1\n\t" MOTE_FOUR_CLAMP
        "vstrw.32 q0, [%[out]]\n\t"
        "add %[out], %[out], %[step]\n\t"
        "le lr, 1b\n\t"
        : [sums] "+&r"(sums), [out] "+&r"(out)
        : [bias] "r"(bias), [low] "r"(low), [high] "r"(high), [step] "r"(4 * channels), [pixels] "r"(pixels)
        : "lr", "q0", "q1", "q2", "q3", "q4", "cc", "memory");
}

#elif MOTE_VFP

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

#define MOTE_BLOCK_TWICE \
    "vldmia %[x]!, {s16-s17}\n\t" \
    "vldmia %[x1]!, {s18-s19}\n\t" \
    "vldmia %[x2]!, {s20-s21}\n\t" \
    "vldmia %[x3]!, {s22-s23}\n\t" \
    "vldmia %[w]!, {s24-s27}\n\t" MOTE_BLOCK_ALL("s16", "s18", "s20", "s22") \
    "vldmia %[w]!, {s24-s27}\n\t" MOTE_BLOCK_ALL("s17", "s19", "s21", "s23")

#define MOTE_BLOCK_ALL_REGISTERS \
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s17", \
        "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30", "s31"

/* n products of four pixels and channels; n is zero or less afterwards. Labels 1 to 4. */
#define MOTE_BLOCK_SUM \
    "subs %[n], %[n], #4\n\t" \
    "blt 2f\n\t" \
    "1:\n\t" MOTE_BLOCK_TWICE MOTE_BLOCK_TWICE \
    "subs %[n], %[n], #4\n\t" \
    "bge 1b\n\t" \
    "2:\n\t" \
    "adds %[n], %[n], #2\n\t" \
    "blt 3f\n\t" MOTE_BLOCK_TWICE \
    "subs %[n], %[n], #2\n\t" \
    "3:\n\t" \
    "adds %[n], %[n], #1\n\t" \
    "bne 4f\n\t" \
    "vldr.32 s16, [%[x]]\n\t" \
    "vldr.32 s18, [%[x1]]\n\t" \
    "vldr.32 s20, [%[x2]]\n\t" \
    "vldr.32 s22, [%[x3]]\n\t" \
    "vldmia %[w]!, {s24-s27}\n\t" MOTE_BLOCK_ALL("s16", "s18", "s20", "s22") \
    "4:\n\t"

MOTE_ALWAYS_INLINE void mote_block4_f32(const float *x, int32_t apart, const float *w, int32_t n, float *sums) {
    const float *x1 = x + apart, *x2 = x1 + apart, *x3 = x2 + apart;
    __asm__ volatile(
        "vldmia %[sums], {s0-s15}\n\t" MOTE_BLOCK_SUM
        "vstmia %[sums], {s0-s15}\n\t"
        : [x] "+&r"(x), [x1] "+&r"(x1), [x2] "+&r"(x2), [x3] "+&r"(x3), [w] "+&r"(w), [n] "+&r"(n)
        : [sums] "r"(sums)
        : MOTE_BLOCK_ALL_REGISTERS, "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_block4_rows_f32(const float *const *rows, int32_t count, int32_t start, int32_t apart,
                                             const float *w, int32_t each, float *sums) {
    const float *x, *x1, *x2, *x3;
    int32_t n;
    __asm__ volatile(
        "vldmia %[sums], {s0-s15}\n\t"
        "5:\n\t"
        "ldr %[x], [%[rows]], #4\n\t"
        "cmp %[x], #0\n\t"
        "itt eq\n\t"
        "addeq %[w], %[w], %[each], lsl #4\n\t"
        "beq 6f\n\t"
        "add %[x], %[x], %[start]\n\t"
        "add %[x1], %[x], %[apart]\n\t"
        "add %[x2], %[x1], %[apart]\n\t"
        "add %[x3], %[x2], %[apart]\n\t"
        "mov %[n], %[each]\n\t" MOTE_BLOCK_SUM
        "6:\n\t"
        "subs %[count], %[count], #1\n\t"
        "bne 5b\n\t"
        "vstmia %[sums], {s0-s15}\n\t"
        : [x] "=&r"(x), [x1] "=&r"(x1), [x2] "=&r"(x2), [x3] "=&r"(x3), [n] "=&r"(n), [w] "+&r"(w), [rows] "+&r"(rows),
          [count] "+&r"(count)
        : [each] "r"(each), [start] "r"(4 * start), [apart] "r"(4 * apart), [sums] "r"(sums)
        : MOTE_BLOCK_ALL_REGISTERS, "cc", "memory");
}

#define MOTE_BLOCK_ONE(x) \
    "vldmia %[w]!, {s24-s27}\n\t" \
    MOTE_BLOCK_PAIR("s0", "s1", x, "s24", x, "s25") MOTE_BLOCK_PAIR("s2", "s3", x, "s26", x, "s27")

MOTE_ALWAYS_INLINE void mote_block1_f32(const float *x, const float *w, int32_t n, float *sums) {
    __asm__ volatile(
        "vldmia %[sums], {s0-s3}\n\t"
        "subs %[n], %[n], #4\n\t"
        "blt 2f\n\t"
        "1:\n\t"
        "vldmia %[x]!, {s16-s19}\n\t" MOTE_BLOCK_ONE("s16") MOTE_BLOCK_ONE("s17") MOTE_BLOCK_ONE("s18")
            MOTE_BLOCK_ONE("s19")
        "subs %[n], %[n], #4\n\t"
        "bge 1b\n\t"
        "2:\n\t"
        "adds %[n], %[n], #3\n\t"
        "blt 4f\n\t"
        "3:\n\t"
        "vldmia %[x]!, {s16}\n\t" MOTE_BLOCK_ONE("s16")
        "subs %[n], %[n], #1\n\t"
        "bge 3b\n\t"
        "4:\n\t"
        "vstmia %[sums], {s0-s3}\n\t"
        : [x] "+&r"(x), [w] "+&r"(w), [n] "+&r"(n)
        : [sums] "r"(sums)
        : MOTE_FOUR_REGISTERS);
}

/* Products of four channels of one pixel, whose inputs begin at an address. */
#define MOTE_TAPS_ONE(x, a, b, c, d) \
    "vldmia " x ", {s16-s19}\n\t" \
    MOTE_BLOCK_PAIR(a, b, "s16", "s24", "s17", "s25") MOTE_BLOCK_PAIR(c, d, "s18", "s26", "s19", "s27")

/* The next row of the window, from its first column on; one that is not there is left out. Labels 5 and 6. */
#define MOTE_TAPS_ROW \
    "5:\n\t" \
    "ldr %[x], [%[rows]], #4\n\t" \
    "cmp %[x], #0\n\t" \
    "itt eq\n\t" \
    "addeq %[w], %[w], %[each], lsl #4\n\t" \
    "beq 6f\n\t" \
    "add %[x], %[x], %[start]\n\t" \
    "mov %[n], %[each]\n\t"

MOTE_ALWAYS_INLINE void mote_taps4_rows_f32(const float *const *rows, int32_t count, int32_t start, int32_t apart,
                                            int32_t step, const float *w, int32_t each, float *sums) {
    const float *x, *y;
    int32_t n;
    __asm__ volatile(
        "vldmia %[sums], {s0-s15}\n\t" MOTE_TAPS_ROW
        "1:\n\t"
        "vldmia %[w]!, {s24-s27}\n\t"
        "add %[y], %[x], %[apart]\n\t" MOTE_TAPS_ONE("%[x]", "s0", "s1", "s2", "s3")
        "add %[x], %[x], %[step]\n\t" MOTE_TAPS_ONE("%[y]", "s4", "s5", "s6", "s7")
        "add %[y], %[y], %[apart]\n\t" MOTE_TAPS_ONE("%[y]", "s8", "s9", "s10", "s11")
        "add %[y], %[y], %[apart]\n\t" MOTE_TAPS_ONE("%[y]", "s12", "s13", "s14", "s15")
        "subs %[n], %[n], #1\n\t"
        "bne 1b\n\t"
        "6:\n\t"
        "subs %[count], %[count], #1\n\t"
        "bne 5b\n\t"
        "vstmia %[sums], {s0-s15}\n\t"
        : [x] "=&r"(x), [y] "=&r"(y), [n] "=&r"(n), [w] "+&r"(w), [rows] "+&r"(rows), [count] "+&r"(count)
        : [each] "r"(each), [start] "r"(4 * start), [apart] "r"(4 * apart), [step] "r"(4 * step), [sums] "r"(sums)
        : MOTE_BLOCK_ALL_REGISTERS, "cc", "memory");
}

MOTE_ALWAYS_INLINE void mote_taps1_rows_f32(const float *const *rows, int32_t count, int32_t start, int32_t step,
                                            const float *w, int32_t each, int32_t left_out, float *sums) {
    const float *x;
    int32_t n;
    __asm__ volatile(
        "vldmia %[sums], {s0-s3}\n\t" MOTE_TAPS_ROW
        "1:\n\t"
        "vldmia %[w]!, {s24-s27}\n\t" MOTE_TAPS_ONE("%[x]", "s0", "s1", "s2", "s3")
        "add %[x], %[x], %[step]\n\t"
        "subs %[n], %[n], #1\n\t"
        "bne 1b\n\t"
        "6:\n\t"
        "add %[w], %[w], %[left_out], lsl #4\n\t"
        "subs %[count], %[count], #1\n\t"
        "bne 5b\n\t"
        "vstmia %[sums], {s0-s3}\n\t"
        : [x] "=&r"(x), [n] "=&r"(n), [w] "+&r"(w), [rows] "+&r"(rows), [count] "+&r"(count)
        : [each] "r"(each), [start] "r"(4 * start), [step] "r"(4 * step), [left_out] "r"(left_out), [sums] "r"(sums)
        : MOTE_FOUR_REGISTERS);
}

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

#else

static inline void mote_block1_f32(const float *x, const float *w, int32_t n, float *sums) {
    for (; n > 0; n--, x++, w += MOTE_BLOCK) {
        for (int32_t c = 0; c < MOTE_BLOCK; c++) {
            sums[c] = mote_add_product_f32(sums[c], *x, w[c]);
        }
    }
}

static inline void mote_block4_f32(const float *x, int32_t apart, const float *w, int32_t n, float *sums) {
    for (int32_t pixel = 0; pixel < MOTE_BLOCK; pixel++) {
        mote_block1_f32(x + pixel * apart, w, n, sums + pixel * MOTE_BLOCK);
    }
}

static inline void mote_taps1_f32(const float *x, int32_t step, const float *w, int32_t n, float *sums) {
    for (; n > 0; n--, x += step, w += MOTE_BLOCK) {
        for (int32_t c = 0; c < MOTE_BLOCK; c++) {
            sums[c] = mote_add_product_f32(sums[c], x[c], w[c]);
        }
    }
}

static inline void mote_taps4_f32(const float *x, int32_t apart, int32_t step, const float *w, int32_t n, float *sums) {
    for (int32_t pixel = 0; pixel < MOTE_BLOCK; pixel++) {
        mote_taps1_f32(x + pixel * apart, step, w, n, sums + pixel * MOTE_BLOCK);
    }
}

static inline void mote_block_finish(float *sums, const float *bias, float low, float high, float *out, int32_t channels,
                                     int32_t pixels) {
    for (; pixels > 0; pixels--, out += channels, sums += MOTE_BLOCK) {
        for (int32_t c = 0; c < MOTE_BLOCK; c++) {
            out[c] = mote_clamp_f32(sums[c] + bias[c], low, high);
            sums[c] = 0.0f;
        }
    }
}

#endif

#if MOTE_HELIUM_FLOAT || !MOTE_VFP
static inline void mote_block4_rows_f32(const float *const *rows, int32_t count, int32_t start, int32_t apart,
                                        const float *w, int32_t each, float *sums) {
    for (; count > 0; count--, rows++, w += each * MOTE_BLOCK) {
        if (*rows != NULL) {
            mote_block4_f32(*rows + start, apart, w, each, sums);
        }
    }
}

static inline void mote_taps4_rows_f32(const float *const *rows, int32_t count, int32_t start, int32_t apart,
                                       int32_t step, const float *w, int32_t each, float *sums) {
    for (; count > 0; count--, rows++, w += each * MOTE_BLOCK) {
        if (*rows != NULL) {
            mote_taps4_f32(*rows + start, apart, step, w, each, sums);
        }
    }
}

static inline void mote_taps1_rows_f32(const float *const *rows, int32_t count, int32_t start, int32_t step,
                                       const float *w, int32_t each, int32_t left_out, float *sums) {
    for (; count > 0; count--, rows++, w += (each + left_out) * MOTE_BLOCK) {
        if (*rows != NULL) {
            mote_taps1_f32(*rows + start, step, w, each, sums);
        }
    }
}
#endif

/* Four pixels side by side, or one: which columns of their windows lie inside the image. */
typedef struct {
    int32_t pixels, first; /* how many, and in which column the first one's window begins */
    int32_t lo[MOTE_BLOCK], hi[MOTE_BLOCK];
    int32_t all_lo, all_hi;   /* what all of them have */
    int32_t before, behind;   /* whether one of them has more before that, or behind it */
} mote_columns_t;

static inline int32_t mote_max(int32_t a, int32_t b) { return a > b ? a : b; }

/* Those from column x of the output on. */
static inline void mote_columns(const mote_span_t *s, int32_t x, mote_columns_t *found) {
    int32_t first = x * s->step - s->pad, lo = 0, hi = s->taps, least = s->taps, most = 0;
    found->pixels = s->out_size - x < MOTE_BLOCK ? 1 : MOTE_BLOCK;
    found->first = first;
    for (int32_t j = 0; j < found->pixels; j++, first += s->step) {
        found->lo[j] = mote_min(mote_span_lo(s, first), s->taps);
        found->hi[j] = mote_span_hi(s, first);
        lo = mote_max(lo, found->lo[j]);
        hi = mote_min(hi, found->hi[j]);
        least = mote_min(least, found->lo[j]);
        most = mote_max(most, found->hi[j]);
    }
    found->all_lo = lo;
    found->all_hi = mote_max(lo, hi);
    found->before = least < lo;
    found->behind = most > found->all_hi;
}

#endif
