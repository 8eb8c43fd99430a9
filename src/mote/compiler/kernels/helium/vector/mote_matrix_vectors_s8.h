/* mote_matrix_vectors_s8.h: mote_matrix_s8.h with the weights of four rows in vectors of sixteen, padded with zeros. */
#ifndef MOTE_MATRIX_VECTORS_S8_H
#define MOTE_MATRIX_VECTORS_S8_H

#include "mote_gates_s16.h"
#include "mote_matrix_s8.h"

#if MOTE_HELIUM
/* r4, r6, r8 and r10: the sums of four rows of weights at r0, whose end it becomes, times the n = lr inputs at r1. */
#define MOTE_MATRIX_FOUR \
    "mov r4, #0\n\t" \
    "mov r6, #0\n\t" \
    "mov r8, #0\n\t" \
    "mov r10, #0\n\t" \
    "wlstp.8 lr, lr, 2f\n" \
    "1:\n\t" \
    "vldrb.u8 q0, [r1], #16\n\t" \
    "vldrb.u8 q1, [r0], #16\n\t" \
    "vmladava.s8 r4, q0, q1\n\t" \
    "vldrb.u8 q2, [r0], #16\n\t" \
    "vmladava.s8 r6, q0, q2\n\t" \
    "vldrb.u8 q1, [r0], #16\n\t" \
    "vmladava.s8 r8, q0, q1\n\t" \
    "vldrb.u8 q2, [r0], #16\n\t" \
    "vmladava.s8 r10, q0, q2\n\t" \
    "letp lr, 1b\n" \
    "2:\n\t" \
    "vmov q0[2], q0[0], r4, r8\n\t" \
    "vmov q0[3], q0[1], r6, r10\n\t"

__attribute__((naked, noinline, unused)) static void mote_matrix_four(const int8_t *weights __attribute__((unused)),
                                                                      const int8_t *x __attribute__((unused)),
                                                                      int32_t depth __attribute__((unused)),
                                                                      int32_t *sums __attribute__((unused))) {
    __asm__ volatile("push {r4-r10, lr}\n\t"
                     "mov lr, r2\n\t" MOTE_MATRIX_FOUR "vstrw.32 q0, [r3]\n\t"
                     "pop {r4-r10, pc}\n\t");
}

/* One of the products of a gate: how to rescale it, the vector, and the number of rows that are left. */
typedef struct {
    const int8_t *weights;
    const int32_t *start;
    int16_t *gate;
    mote_helium_rescale_t by;
    int32_t rows;
    const int8_t *x;
    int32_t depth;
} mote_matrix_vectors_run_t;

/* `add`: what becomes of the rescaled sums in q0 before they are saturated and stored as those of the gate. */
#define MOTE_MATRIX_ROWS(name, add) \
    __attribute__((naked, noinline, unused)) static void name( \
        const mote_matrix_vectors_run_t *run __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "ldrd r1, r2, [r0, #32]\n\t" \
                         "push {r1, r2}\n\t" \
                         "ldr r12, [r0, #28]\n\t" \
                         "ldrd r5, r7, [r0, #12]\n\t" \
                         "ldrd r9, r11, [r0, #20]\n\t" \
                         "ldrd r2, r3, [r0, #4]\n\t" \
                         "ldr r0, [r0]\n" \
                         "3:\n\t" \
                         "ldrd r1, lr, [sp]\n\t" MOTE_MATRIX_FOUR \
                         "vldrw.u32 q1, [r2], #16\n\t" \
                         "vadd.i32 q0, q0, q1\n\t" MOTE_HELIUM_RESCALE("q0", "q1", "r5", "r7", "r9", "r11") \
                         "vctp.32 r12\n\t" add \
                         "vqmovnb.s32 q0, q0\n\t" \
                         "vpst\n\t" \
                         "vstrht.32 q0, [r3], #8\n\t" \
                         "subs r12, r12, #4\n\t" \
                         "bgt 3b\n\t" \
                         "pop {r1, r2}\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }

MOTE_MATRIX_ROWS(mote_matrix_rows_first, "")
MOTE_MATRIX_ROWS(mote_matrix_rows_second,
                 "vpst\n\t"
                 "vldrht.s32 q1, [r3]\n\t"
                 "vadd.i32 q0, q0, q1\n\t")

static inline mote_matrix_vectors_run_t mote_matrix_vectors_run(const mote_matrix_s8_t *m, const void *x, int32_t rows,
                                                                int16_t *gate) {
    const mote_matrix_vectors_run_t run = {(const int8_t *)m->weights, m->start, gate,
                                           mote_helium_rescale(m->mult, m->shift), rows, (const int8_t *)x, m->depth};
    return run;
}
#else
static inline void mote_matrix_four(const int8_t *weights, const int8_t *x, int32_t depth, int32_t *sums) {
    for (int32_t r = 0; r < 4; r++) {
        sums[r] = 0;
        for (int32_t i = 0; i < depth; i++) {
            sums[r] += x[i] * weights[i / 16 * 64 + 16 * r + i % 16];
        }
    }
}
#endif

/* mote_matrix_bytes with vectors. */
static inline void mote_matrix_vectors(const mote_matrix_s8_t *m, int32_t row, const void *x, int32_t *result) {
    mote_matrix_four((const int8_t *)m->weights + row * ((m->depth + 15) & ~15), (const int8_t *)x, m->depth, result);
    for (int32_t i = 0; i < 4; i++) {
        result[i] = mote_wrapping_add(result[i], m->start[row + i]);
    }
    mote_matrix_rescale(m, result);
}

static inline void mote_matrix_gates_vectors(const mote_matrix_gate_t *g, int32_t rows, int16_t *gate) {
#if MOTE_HELIUM
    const mote_matrix_vectors_run_t input = mote_matrix_vectors_run(g->input, g->x, rows, gate);
    const mote_matrix_vectors_run_t recurrent = mote_matrix_vectors_run(g->recurrent, g->h, rows, gate);
    mote_matrix_rows_first(&input);
    mote_matrix_rows_second(&recurrent);
#else
    mote_matrix_gates(g, mote_matrix_vectors, rows, gate);
#endif
}

#endif
