/* mote_gates_s16_helium.h: mote_gates_s16.h, which includes it, with vectors. */
#ifndef MOTE_GATES_S16_HELIUM_H
#define MOTE_GATES_S16_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* q2 times `factor` where bit k of q1 is not set. */
#define MOTE_HELIUM_QUARTER(k, factor) \
    "vshl.i16 q5, q1, #15-" #k "\n\t" \
    "movw r12, #" #factor "\n\t" \
    "vpt.s16 ge, q5, r4\n\t" \
    "vqrdmulht.s16 q2, q2, r12\n\t"

/* One step of Newton's method. */
#define MOTE_HELIUM_NEWTON \
    "vqrdmulh.s16 q3, q2, q1\n\t" \
    "vsub.i16 q3, q7, q3\n\t" \
    "vqrdmulh.s16 q3, q1, q3\n\t" \
    "vshl.i16 q3, q3, #2\n\t" \
    "vadd.i16 q1, q1, q3\n\t"

/* mote_exp_s16 and mote_half_reciprocal_s16: q1 of -|q0|. Its quarters are shifted out by r5 to the left, and down by
 * r6. r4 is 0, r7 0x8000, r8 10923, r9 28918, r10 -15420, r11 23130; q7 is 2^13. */
#define MOTE_HELIUM_GATE \
    "vneg.s16 q1, q0\n\t" \
    "vmin.s16 q1, q1, q0\n\t" \
    "vmov q2, q1\n\t" \
    "vshl.s16 q2, r5\n\t" \
    "vadd.i16 q2, q2, r7\n\t" \
    "vshr.s16 q2, q2, #3\n\t" \
    "vqrdmulh.s16 q3, q2, q2\n\t" \
    "vqrdmulh.s16 q4, q3, q2\n\t" \
    "vqrdmulh.s16 q5, q3, q3\n\t" \
    "vshl.s16 q1, r6\n\t" \
    "vrshr.s16 q5, q5, #2\n\t" \
    "vadd.i16 q4, q4, q5\n\t" \
    "vqrdmulh.s16 q4, q4, r8\n\t" \
    "vadd.i16 q4, q4, q3\n\t" \
    "vrshr.s16 q4, q4, #1\n\t" \
    "vadd.i16 q2, q2, q4\n\t" \
    "vqrdmulh.s16 q2, q2, r9\n\t" \
    "vadd.i16 q2, q2, r9\n\t" \
    MOTE_HELIUM_QUARTER(0, 25520) MOTE_HELIUM_QUARTER(1, 19875) MOTE_HELIUM_QUARTER(2, 12055) \
    MOTE_HELIUM_QUARTER(3, 4435) MOTE_HELIUM_QUARTER(4, 600) MOTE_HELIUM_QUARTER(5, 11) \
    "mvn r12, #63\n\t" \
    "vpt.s16 lt, q1, r12\n\t" /* beyond 64 quarters */ \
    "vdupt.16 q2, r4\n\t" \
    "vshr.u16 q2, q2, #1\n\t" \
    "vorr.i16 q2, #0x4000\n\t" \
    "vqrdmulh.s16 q1, q2, r10\n\t" \
    "vadd.i16 q1, q1, r11\n\t" \
    MOTE_HELIUM_NEWTON MOTE_HELIUM_NEWTON MOTE_HELIUM_NEWTON

#define MOTE_HELIUM_GATES(name, finish) \
    __attribute__((naked, noinline, unused)) static void name( \
        const int16_t *x __attribute__((unused)), int32_t bits __attribute__((unused)), \
        int16_t *y __attribute__((unused)), int32_t n __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "vpush {d8-d15}\n\t" \
                         "mov r4, #0\n\t" \
                         "add r5, r1, #3\n\t" \
                         "sub r6, r1, #13\n\t" \
                         "movw r7, #0x8000\n\t" \
                         "movw r8, #10923\n\t" \
                         "movw r9, #28918\n\t" \
                         "movw r10, #50116\n\t" \
                         "movw r11, #23130\n\t" \
                         "vmov.i16 q7, #0x2000\n\t" \
                         "vmvn.i16 q6, #0x8000\n\t" \
                         "wlstp.16 lr, r3, 2f\n" \
                         "1:\n\t" \
                         "vldrh.u16 q0, [r0], #16\n\t" MOTE_HELIUM_GATE finish \
                         "vstrh.16 q1, [r2], #16\n\t" \
                         "letp lr, 1b\n" \
                         "2:\n\t" \
                         "vpop {d8-d15}\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }

/* `bits` of x before the point, of tanh those of twice x. */
MOTE_HELIUM_GATES(mote_helium_logistic,
                  "vqshl.s16 q1, q1, #1\n\t"
                  "vpt.s16 lt, q0, r4\n\t"
                  "vsubt.i16 q1, q6, q1\n\t"
                  "movw r12, #0x4000\n\t"
                  "vpt.i16 eq, q0, r4\n\t"
                  "vdupt.16 q1, r12\n\t")
MOTE_HELIUM_GATES(mote_helium_tanh,
                  "vsub.i16 q1, q1, q7\n\t"
                  "vqshl.s16 q1, q1, #2\n\t"
                  "vpt.s16 lt, q0, r4\n\t"
                  "vnegt.s16 q1, q1\n\t"
                  "vpt.i16 eq, q0, r4\n\t"
                  "vdupt.16 q1, r4\n\t")

static inline void mote_logistic_run_s16(int16_t *x, int32_t n) { mote_helium_logistic(x, 3, x, n); }
#define mote_logistic_run_s16 mote_logistic_run_s16

static inline void mote_tanh_run_s16(const int16_t *x, int32_t bits, int16_t *y, int32_t n) {
    mote_helium_tanh(x, bits + 1, y, n);
}
#define mote_tanh_run_s16 mote_tanh_run_s16

/* `terms`: bits, clip, -clip. */
__attribute__((naked, noinline, unused)) static void mote_helium_cells(
    const int16_t *kept __attribute__((unused)), const int16_t *given __attribute__((unused)),
    const int16_t *fresh __attribute__((unused)), int16_t *cell __attribute__((unused)),
    int32_t n __attribute__((unused)), const int32_t *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r7, lr}\n\t"
                     "ldrd r4, r12, [sp, #20]\n\t"
                     "ldm r12, {r5-r7}\n\t"
                     "mvn r12, #14\n\t"
                     "sub r5, r12, r5\n\t"
                     "vpush {d8-d9}\n\t"
                     "vdup.32 q3, r6\n\t"
                     "vdup.32 q4, r7\n\t"
                     "wlstp.32 lr, r4, 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [r0], #8\n\t"
                     "vldrh.s32 q1, [r3]\n\t"
                     "vmul.i32 q0, q0, q1\n\t"
                     "vshr.s32 q1, q0, #31\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vrshr.s32 q0, q0, #15\n\t"
                     "vldrh.s32 q1, [r1], #8\n\t"
                     "vldrh.s32 q2, [r2], #8\n\t"
                     "vmul.i32 q1, q1, q2\n\t"
                     "vshr.s32 q2, q1, #31\n\t"
                     "vadd.i32 q1, q1, q2\n\t"
                     "vrshl.s32 q1, r5\n\t"
                     "vadd.i32 q0, q0, q1\n\t"
                     "vqmovnb.s32 q0, q0\n\t"
                     "vmovlb.s16 q0, q0\n\t"
                     "vmin.s32 q0, q0, q3\n\t"
                     "vmax.s32 q0, q0, q4\n\t"
                     "vstrh.32 q0, [r3], #8\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "vpop {d8-d9}\n\t"
                     "pop {r4-r7, pc}\n\t");
}

static inline void mote_cells_run_s16(const int16_t *kept, const int16_t *given, const int16_t *fresh, int16_t *cell,
                                      int32_t n, int32_t bits, int32_t clip) {
    const int32_t terms[] = {bits, clip, -clip};
    mote_helium_cells(kept, given, fresh, cell, n, terms);
}
#define mote_cells_run_s16 mote_cells_run_s16

/* What `shift` of mote_rescale is to vectors: how far sums go to the left before they are multiplied, and products
 * after it, and 1 where those are rounded away from zero, else 0. */
typedef struct {
    int32_t before, mult, away, after;
} mote_helium_rescale_t;

static inline mote_helium_rescale_t mote_helium_rescale(int32_t mult, int32_t shift) {
    const mote_helium_rescale_t left = {-1 - shift, mult, 0, 0}, right = {0, mult, 1, -1 - shift};
    return shift < 0 ? left : right;
}

/* mote_rescale of a vector: four registers hold the struct; `t` is lost. */
#define MOTE_HELIUM_RESCALE(q, t, before, mult, away, after) \
    "vshl.s32 " q ", " before "\n\t" \
    "vqrdmulh.s32 " q ", " q ", " mult "\n\t" \
    "vshr.s32 " t ", " q ", #31\n\t" \
    "vmla.s32 " q ", " t ", " away "\n\t" \
    "vrshl.s32 " q ", " after "\n\t"

/* `terms`: n, how to rescale, and the zero point. */
__attribute__((naked, noinline, unused)) static void mote_helium_shown(const int16_t *gate __attribute__((unused)),
                                                                       const int16_t *cell __attribute__((unused)),
                                                                       int8_t *out __attribute__((unused)),
                                                                       const int32_t *terms __attribute__((unused))) {
    __asm__ volatile("push {r4-r8, lr}\n\t"
                     "ldm r3, {r3-r8}\n\t"
                     "wlstp.32 lr, r3, 2f\n"
                     "1:\n\t"
                     "vldrh.s32 q0, [r0], #8\n\t"
                     "vldrh.s32 q1, [r1], #8\n\t"
                     "vmul.i32 q0, q0, q1\n\t" MOTE_HELIUM_RESCALE("q0", "q1", "r4", "r5", "r6", "r7")
                     "vadd.i32 q0, q0, r8\n\t"
                     "vqmovnb.s32 q0, q0\n\t"
                     "vqmovnb.s16 q0, q0\n\t"
                     "vstrb.32 q0, [r2], #4\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4-r8, pc}\n\t");
}

static inline void mote_shown_run_s16(const int16_t *gate, const int16_t *cell, int8_t *out, int32_t n, int32_t mult,
                                      int32_t shift, int32_t zero) {
    const mote_helium_rescale_t by = mote_helium_rescale(mult, shift);
    const int32_t terms[] = {n, by.before, mult, by.away, by.after, zero};
    mote_helium_shown(gate, cell, out, terms);
}
#define mote_shown_run_s16 mote_shown_run_s16
#endif

#endif
