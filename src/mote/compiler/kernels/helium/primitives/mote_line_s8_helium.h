/* mote_line_s8_helium.h: mote_line_s8.h, which includes it, with vectors. */
#ifndef MOTE_LINE_S8_HELIUM_H
#define MOTE_LINE_S8_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
__attribute__((naked, noinline, unused)) static int32_t mote_line_sum(const int8_t *x __attribute__((unused)),
                                                                      int32_t n __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "mov r2, #0\n\t"
                     "wlstp.8 lr, r1, 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [r0], #16\n\t"
                     "vaddva.s8 r2, q0\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "mov r0, r2\n\t"
                     "pop {r4, pc}\n\t");
}
#define mote_line_sum mote_line_sum

static inline int32_t mote_line_max(const int8_t *x, int32_t n) {
    int32_t max = -128;
    __asm__("wlstp.8 lr, %2, 2f\n"
            "1:\n\t"
            "vldrb.u8 q0, [%1], #16\n\t"
            "vmaxv.s8 %0, q0\n\t"
            "letp lr, 1b\n"
            "2:\n\t"
            : "+r"(max), "+r"(x)
            : "r"(n)
            : "lr", "q0", "cc", "memory");
    return (int8_t)max;
}
#define mote_line_max mote_line_max

/* Four elements at r0 in q0: times q1 over 256, plus r4. */
#define MOTE_LINE_LOAD \
    "vldrb.s32 q0, [r0], #4\n\t" \
    "vshl.i32 q0, q0, #24\n\t" \
    "vmulh.s32 q0, q0, q1\n\t" \
    "vadd.i32 q0, q0, r4\n\t"

/* 7 instructions for four elements. */
__attribute__((naked, noinline, unused)) static void mote_line_affine_run(
    const int8_t *x __attribute__((unused)), int8_t *out __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_line_affine_t *p __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldrd r3, r4, [r3]\n\t"
                     "vdup.32 q1, r3\n\t"
                     "wlstp.32 lr, r2, 2f\n"
                     "1:\n\t" MOTE_LINE_LOAD
                     "vqshl.s32 q0, q0, #8\n\t"
                     "vshr.s32 q0, q0, #24\n\t"
                     "vstrb.32 q0, [r1], #4\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}\n\t");
}

static inline void mote_line_affine(const mote_line_affine_t *p, const int8_t *x, int8_t *out, int32_t n) {
    mote_line_affine_run(x, out, n, p);
}
#define mote_line_affine mote_line_affine

static inline void mote_line_product(const mote_line_product_t *p, const int8_t *x, int32_t y, int8_t *out, int32_t n) {
    mote_helium_mul_by(x, y, out, n, &p->a_zero);
}
#define mote_line_product mote_line_product

/* 11 instructions for four elements. */
__attribute__((naked, noinline, unused)) static int32_t mote_line_squares_run(
    const int8_t *x __attribute__((unused)), int32_t n __attribute__((unused)),
    const mote_line_squares_t *p __attribute__((unused))) {
    __asm__ volatile("push {r4-r7, lr}\n\t"
                     "ldm r2, {r3-r6}\n\t"
                     "vdup.32 q1, r3\n\t"
                     "vdup.32 q2, r5\n\t"
                     "mov r2, #0\n\t"
                     "wlstp.32 lr, r1, 2f\n"
                     "1:\n\t" MOTE_LINE_LOAD
                     "vshr.s32 q0, q0, #16\n\t"
                     "vmul.i32 q0, q0, q0\n\t"
                     "vmulh.s32 q0, q0, q2\n\t"
                     "vadd.i32 q0, q0, r6\n\t"
                     "vqshlu.s32 q0, q0, #8\n\t"
                     "vshr.u32 q0, q0, #24\n\t"
                     "vaddva.u32 r2, q0\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "mov r0, r2\n\t"
                     "pop {r4-r7, pc}\n\t");
}

static inline int32_t mote_line_squares(const mote_line_squares_t *p, const int8_t *x, int32_t n) {
    return mote_line_squares_run(x, n, p);
}
#define mote_line_squares mote_line_squares
#endif

#endif
