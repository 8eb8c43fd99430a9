/* mote_elements_s8_helium.h: runs of int8 elements with vectors, for mote_elements_s8.h and mote_mul4_s8.h.
 *
 * Each is what the portable code means that stands beside its call. Bytes are widened as they are loaded and narrowed as
 * they are stored, so that elements stay in order and any number of them is done without a rest: the last vector of a
 * loop has as many lanes as elements are left. Addresses need no alignment.
 */
#ifndef MOTE_ELEMENTS_S8_HELIUM_H
#define MOTE_ELEMENTS_S8_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM

/* x * a + y * b + c, shifted right by 21 and clamped: a shift left that saturates comes before one that is 3 longer. */
#define MOTE_HELIUM_ADD_BEGIN \
    "vldrb.s32 q0, [r0], #4\n\t" \
    "vmlas.s32 q0, q2, r6\n\t" \
    "vldrb.s32 q1, [r1], #4\n\t" \
    "vmla.s32 q0, q1, r5\n\t"
#define MOTE_HELIUM_ADD_END(q) \
    "vqshl.s32 " q ", " q ", #3\n\t" \
    "vshr.s32 " q ", " q ", #24\n\t" \
    "vstrb.32 " q ", [r2], #4\n\t"
/* Ends one while the next begins: vector instructions overlap with others for another pipeline. */
#define MOTE_HELIUM_ADD_NEXT(q, next) \
    "vqshl.s32 " q ", " q ", #3\n\t" \
    "vldrb.s32 " next ", [r0], #4\n\t" \
    "vshr.s32 " q ", " q ", #24\n\t" \
    "vmlas.s32 " next ", q2, r6\n\t" \
    "vldrb.s32 q1, [r1], #4\n\t" \
    "vmla.s32 " next ", q1, r5\n\t" \
    "vstrb.32 " q ", [r2], #4\n\t"

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
                     "1:\n\t" MOTE_HELIUM_ADD_BEGIN MOTE_HELIUM_ADD_NEXT("q0", "q3") MOTE_HELIUM_ADD_NEXT("q3", "q0")
                         MOTE_HELIUM_ADD_NEXT("q0", "q3") MOTE_HELIUM_ADD_END("q3")
                     "le lr, 1b\n"
                     "2:\n\t"
                     "and r3, r3, #15\n\t"
                     "wlstp.32 lr, r3, 4f\n"
                     "3:\n\t" MOTE_HELIUM_ADD_BEGIN MOTE_HELIUM_ADD_END("q0")
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

static inline void mote_add_s8(const mote_add_s8_t *p, const int8_t *x, const int8_t *y, int8_t *out, int32_t n) {
    mote_helium_add(x, y, out, n, &p->a);
}
#define mote_add_s8 mote_add_s8

/* n elements looked up in a table that begins with the result of -128: 5 instructions for sixteen. */
__attribute__((naked, noinline, unused)) static void mote_lut_run(const int8_t *table __attribute__((unused)),
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
#define mote_lut_run mote_lut_run

#endif

#endif
