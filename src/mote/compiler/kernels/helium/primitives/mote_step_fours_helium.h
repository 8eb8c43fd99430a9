/* mote_step_fours_helium.h: mote_step_fours.h, which includes it, with vectors. */
#ifndef MOTE_STEP_FOURS_HELIUM_H
#define MOTE_STEP_FOURS_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* 23 instructions for four weights. */
__attribute__((naked, noinline, unused)) static void mote_step_fours(
    const int32_t *sums __attribute__((unused)), int8_t *weights __attribute__((unused)),
    uint32_t noise __attribute__((unused)), const int8_t *end __attribute__((unused)),
    const mote_step_fours_t *z __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldr r12, [sp, #36]\n\t"
                     "sub lr, r3, r1\n\t"
                     "lsr lr, lr, #2\n\t"
                     "ldm r12, {r4-r11}\n\t"
                     "rsb r3, r11, #0\n\t"
                     "vpush {d8-d15}\n\t"
                     "dls lr, lr\n\t"
                     "vdup.32 q4, r6\n\t"
                     "mov r12, #127\n\t"
                     "vdup.32 q5, r12\n\t"
                     "vneg.s32 q6, q5\n\t"
                     "mov r12, #0\n\t"
                     "vidup.u32 q7, r12, #1\n\t"
                     "vmul.i32 q7, q7, r10\n\t"
                     "vadd.i32 q7, q7, r2\n\t"
                     "lsl r10, r10, #2\n\t"
                     "rsb r4, r4, #0\n\t"
                     "rsb r5, r5, #0\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [r0], #16\n\t"
                     "vshr.u32 q1, q7, #16\n\t"
                     "vshl.s32 q0, r7\n\t"
                     "veor q1, q1, q7\n\t"
                     "vrmulh.s32 q0, q0, q4\n\t"
                     "vmul.i32 q1, q1, r8\n\t"
                     "vshl.s32 q0, r3\n\t"
                     "vshr.u32 q2, q1, #13\n\t"
                     "veor q1, q1, q2\n\t"
                     "vldrb.s32 q3, [r1]\n\t"
                     "vmul.i32 q1, q1, r9\n\t"
                     "vmax.s32 q3, q3, q6\n\t"
                     "vshr.u32 q2, q1, #16\n\t"
                     "veor q1, q1, q2\n\t"
                     "vadd.i32 q7, q7, r10\n\t"
                     "vshl.u32 q1, r5\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vshl.s32 q0, r4\n\t"
                     "vsub.i32 q3, q3, q0\n\t"
                     "vmin.s32 q3, q3, q5\n\t"
                     "vmax.s32 q3, q3, q6\n\t"
                     "vstrb.32 q3, [r1], #4\n\t"
                     "le lr, 1b\n\t"
                     "vpop {d8-d15}\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#define mote_step_fours mote_step_fours
#endif

#endif
