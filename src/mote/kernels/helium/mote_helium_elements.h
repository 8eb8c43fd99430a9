/* mote_helium_elements.h: inner loops over single elements and over channels, for cores with Helium.
 *
 * Each is what the portable code means that stands beside its call. Bytes are widened as they are loaded and narrowed as
 * they are stored, so that elements stay in order and any number of them is done without a rest: the last vector of a
 * loop has as many lanes as elements are left. Addresses need no alignment.
 */
#ifndef MOTE_HELIUM_ELEMENTS_H
#define MOTE_HELIUM_ELEMENTS_H

#include "mote_helium.h"

#if MOTE_HELIUM

/* x * a + y * b + c, shifted right by 21 and clamped: a shift left that saturates comes before one that is 3 longer. */
#define MOTE_HELIUM_ADD_FOUR \
    "vldrb.s32 q0, [r0], #4\n\t" \
    "vmlas.s32 q0, q2, r6\n\t" \
    "vldrb.s32 q1, [r1], #4\n\t" \
    "vmla.s32 q0, q1, r5\n\t" \
    "vqshl.s32 q0, q0, #3\n\t" \
    "vshr.s32 q0, q0, #24\n\t" \
    "vstrb.32 q0, [r2], #4\n\t"

/* n sums of `terms` = a, b, c: 29 instructions for sixteen elements. */
__attribute__((naked, noinline, unused)) static void mote_helium_add(
    const int8_t *x __attribute__((unused)), const int8_t *y __attribute__((unused)),
    int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const int32_t *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r6, lr}\n\t"
                     "ldr r4, [sp, #16]\n\t"
                     "ldm r4, {r4-r6}\n\t"
                     "vdup.32 q2, r4\n\t"
                     "lsr r12, r3, #4\n\t"
                     "wls lr, r12, 2f\n"
                     "1:\n\t" MOTE_HELIUM_ADD_FOUR MOTE_HELIUM_ADD_FOUR MOTE_HELIUM_ADD_FOUR MOTE_HELIUM_ADD_FOUR
                     "le lr, 1b\n"
                     "2:\n\t"
                     "and r3, r3, #15\n\t"
                     "wlstp.32 lr, r3, 4f\n"
                     "3:\n\t" MOTE_HELIUM_ADD_FOUR
                     "letp lr, 3b\n"
                     "4:\n\t"
                     "pop {r4-r6, pc}\n\t");
}

/* What becomes of products in q0: halves are rounded away from zero by what is taken off the negative ones. */
#define MOTE_HELIUM_MUL_FINISH \
    "vshr.s32 q1, q0, #31\n\t" \
    "vqrdmlah.s32 q1, q0, r6\n\t" \
    "vadd.i32 q1, q1, r7\n\t" \
    "vshl.s32 q1, r8\n\t" \
    "vqshl.s32 q1, q1, #24\n\t" \
    "vshr.s32 q1, q1, #24\n\t" \
    "vstrb.32 q1, [r2], #4\n\t"

/* n products; `terms` = the zero points, the multiplier, what is added and how far is shifted right then. 13
 * instructions for four elements. */
__attribute__((naked, noinline, unused)) static void mote_helium_mul(
    const int8_t *a __attribute__((unused)), const int8_t *b __attribute__((unused)),
    int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const int32_t *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r8, lr}\n\t"
                     "ldr r4, [sp, #24]\n\t"
                     "ldm r4, {r4-r8}\n\t"
                     "rsb r8, r8, #0\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [r0], #4\n\t"
                     "vsub.i32 q0, q0, r4\n\t"
                     "vldrb.s32 q1, [r1], #4\n\t"
                     "vsub.i32 q1, q1, r5\n\t"
                     "vmul.i32 q0, q0, q1\n\t" MOTE_HELIUM_MUL_FINISH
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r8, pc}\n\t");
}

/* The same where the second factor is `b` for all elements. */
__attribute__((naked, noinline, unused)) static void mote_helium_mul_by(
    const int8_t *a __attribute__((unused)), int32_t b __attribute__((unused)), int8_t *out __attribute__((unused)),
    int32_t n __attribute__((unused)), const int32_t *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r8, lr}\n\t"
                     "ldr r4, [sp, #24]\n\t"
                     "ldm r4, {r4-r8}\n\t"
                     "rsb r8, r8, #0\n\t"
                     "sub r1, r1, r5\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.s32 q0, [r0], #4\n\t"
                     "vsub.i32 q0, q0, r4\n\t"
                     "vmul.i32 q0, q0, r1\n\t" MOTE_HELIUM_MUL_FINISH
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r8, pc}\n\t");
}

/* n elements looked up in a table that begins with the result of -128: 5 instructions for sixteen. */
__attribute__((naked, noinline, unused)) static void mote_helium_lut(const int8_t *table __attribute__((unused)),
                                                                     const int8_t *in __attribute__((unused)),
                                                                     int8_t *out __attribute__((unused)),
                                                                     int32_t n __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "vmov.i8 q2, #0x80\n\t"
                     "wlstp.8 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [r1], #16\n\t"
                     "veor q0, q0, q2\n\t"
                     "vldrb.u8 q1, [r0, q0]\n\t"
                     "vstrb.8 q1, [r2], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}\n\t");
}

/* Add n >= 1 pixels, `step` elements apart, to the sums of sixteen neighbouring channels; at most 256, whose sums fit
 * half words. */
__attribute__((naked, noinline, unused)) static void mote_helium_sum(const int8_t *x __attribute__((unused)),
                                                                     int32_t step __attribute__((unused)),
                                                                     int32_t n __attribute__((unused)),
                                                                     int32_t *sum __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "sub sp, sp, #32\n\t"
                     "vmov.i32 q0, #0\n\t"
                     "vmov.i32 q1, #0\n\t"
                     "dls lr, r2\n"
                     "1:\n\t"
                     "vldrb.s16 q2, [r0]\n\t"
                     "vadd.i16 q0, q0, q2\n\t"
                     "vldrb.s16 q3, [r0, #8]\n\t"
                     "vadd.i16 q1, q1, q3\n\t"
                     "add r0, r0, r1\n\t"
                     "le lr, 1b\n\t"
                     "vstrh.16 q0, [sp]\n\t"
                     "vstrh.16 q1, [sp, #16]\n\t"
                     "mov r0, sp\n\t"
                     "mov r2, #4\n\t"
                     "dls lr, r2\n"
                     "2:\n\t"
                     "vldrh.s32 q0, [r0], #8\n\t"
                     "vldrw.u32 q1, [r3]\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vstrw.32 q0, [r3], #16\n\t"
                     "le lr, 2b\n\t"
                     "add sp, sp, #32\n\t"
                     "pop {r4, pc}\n\t");
}

/* Sums in q0 become averages, and 4 bytes at r2, as `mote_average` makes them: r4 is the offset, q1 `even`, q2 the
 * inverse, q3 and q4 the limits, r12 128. */
#define MOTE_HELIUM_AVERAGE_FOUR \
    "vshr.s32 q5, q0, #31\n\t" \
    "vand q5, q5, q1\n\t" \
    "vadd.i32 q0, q0, r4\n\t" \
    "vadd.i32 q0, q0, q5\n\t" \
    "vshl.i32 q0, q0, #1\n\t" \
    "vmulh.u32 q0, q0, q2\n\t" \
    "vsub.i32 q0, q0, r12\n\t" \
    "vmax.s32 q0, q0, q3\n\t" \
    "vmin.s32 q0, q0, q4\n\t" \
    "vstrb.32 q0, [r2], #4\n\t"

#define MOTE_HELIUM_AVERAGE_TERMS \
    "mov r12, #128\n\t" \
    "vdup.32 q1, r5\n\t" \
    "vdup.32 q2, r6\n\t" \
    "vdup.32 q3, r7\n\t" \
    "vdup.32 q4, r8\n\t"

/* n averages of `sum`; `terms` = offset, even, inverse, least, greatest. */
__attribute__((naked, noinline, unused)) static void mote_helium_average(const int32_t *sum __attribute__((unused)),
                                                                         const int32_t *terms __attribute__((unused)),
                                                                         int8_t *out __attribute__((unused)),
                                                                         int32_t n __attribute__((unused))) {
    __asm__ volatile("push {r4-r8, lr}\n\t"
                     "vpush {d8-d11}\n\t"
                     "ldm r1, {r4-r8}\n\t" MOTE_HELIUM_AVERAGE_TERMS
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [r0], #16\n\t" MOTE_HELIUM_AVERAGE_FOUR
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "vpop {d8-d11}\n\t"
                     "pop {r4-r8, pc}\n\t");
}

/* The larger of each of sixteen bytes of `most` and of n >= 1 pixels, `step` elements apart. */
__attribute__((naked, noinline, unused)) static void mote_helium_max(const int8_t *x __attribute__((unused)),
                                                                     int32_t step __attribute__((unused)),
                                                                     int32_t n __attribute__((unused)),
                                                                     int8_t *most __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "vldrb.u8 q0, [r3]\n\t"
                     "dls lr, r2\n"
                     "1:\n\t"
                     "vldrb.u8 q1, [r0]\n\t"
                     "add r0, r0, r1\n\t"
                     "vmax.s8 q0, q0, q1\n\t"
                     "le lr, 1b\n\t"
                     "vstrb.8 q0, [r3]\n\t"
                     "pop {r4, pc}\n\t");
}

#endif

#if MOTE_HELIUM_FLOAT
/* n numbers divided by `scale`, rounded with halves away from zero, with `zero` added, clamped. There is no division of
 * vectors: the product with the inverse is corrected twice by what it leaves over, which makes the nearest quotient of
 * it (Markstein), as a division does. Numbers beyond 512 steps are taken as that, no numbers as the lowest. */
#define MOTE_HELIUM_QUANTIZE_FOUR \
    "vldrw.u32 q0, [r0], #16\n\t" \
    "vmaxnm.f32 q0, q0, q3\n\t" \
    "vminnm.f32 q0, q0, q4\n\t" \
    "vmul.f32 q1, q0, r5\n\t" \
    "vmov q2, q0\n\t" \
    "vfma.f32 q2, q1, r4\n\t" \
    "vfma.f32 q1, q2, r5\n\t" \
    "vfma.f32 q0, q1, r4\n\t" \
    "vfma.f32 q1, q0, r5\n\t" \
    "vcvta.s32.f32 q1, q1\n\t" \
    "vadd.i32 q1, q1, r3\n\t" \
    "vqshl.s32 q1, q1, #24\n\t" \
    "vshr.s32 q1, q1, #24\n\t" \
    "vstrb.32 q1, [r1], #4\n\t"

/* `terms`: the scale below zero, its inverse, and the least and the largest number. */
__attribute__((naked, noinline, unused)) static void mote_helium_quantize(const float *in __attribute__((unused)),
                                                                          int8_t *out __attribute__((unused)),
                                                                          int32_t n __attribute__((unused)),
                                                                          int32_t zero __attribute__((unused)),
                                                                          const float *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r7, lr}\n\t"
                     "vpush {d8-d9}\n\t"
                     "ldr r4, [sp, #36]\n\t"
                     "ldm r4, {r4-r7}\n\t"
                     "vdup.32 q3, r6\n\t"
                     "vdup.32 q4, r7\n\t"
                     "wlstp.32 lr, r2, 2f\n"
                     "1:\n\t" MOTE_HELIUM_QUANTIZE_FOUR
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "vpop {d8-d9}\n\t"
                     "pop {r4-r7, pc}\n\t");
}
#endif

#endif
