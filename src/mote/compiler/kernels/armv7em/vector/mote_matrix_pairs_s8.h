/* mote_matrix_pairs_s8.h: mote_matrix_s8.h with the weights of two rows in 16 bits. */
#ifndef MOTE_MATRIX_PAIRS_S8_H
#define MOTE_MATRIX_PAIRS_S8_H

#include "mote_fully_connected4_s8.h"
#include "mote_matrix_s8.h"

#if MOTE_DSP
__attribute__((naked, noinline, unused)) static void mote_matrix_sums(
    const int32_t *weights __attribute__((unused)), const uint32_t *x __attribute__((unused)),
    const uint32_t *end __attribute__((unused)), int32_t *sums __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "push {r2, r3}\n\t"
                     "mov r8, r1\n\t"
                     "mov r9, r0\n\t"
                     "ldm r9!, {r0-r3}\n"
                     "1:\n\t" MOTE_FC4_widened MOTE_FC4_LOAD MOTE_FC4_TIMES8_twice
                     "ldr r10, [sp]\n\t"
                     "cmp r8, r10\n\t"
                     "bne 1b\n\t" MOTE_FC4_SPLIT_twice
                     "pop {r10, r11}\n\t"
                     "stm r11, {r0-r3}\n\t"
                     "pop {r4-r11, pc}\n\t");
}
#else
static inline void mote_matrix_sums(const int32_t *weights, const uint32_t *x, const uint32_t *end, int32_t *sums) {
    memcpy(sums, weights, 4 * sizeof(int32_t));
    for (weights += 4; x < end; x++) {
        for (int32_t c = 0; c < 4; c += 2, weights++) {
            for (int32_t i = 0; i < 2; i++) {
                const int32_t both = mote_fc4_half((uint32_t)*weights, i), value = mote_fc4_half(*x, i);
                sums[c] += value * (int8_t)(both & 0xff);
                sums[c + 1] += value * both;
            }
        }
    }
    sums[1] = (sums[1] - sums[0]) >> 8;
    sums[3] = (sums[3] - sums[2]) >> 8;
}
#endif

/* mote_matrix_bytes of a vector that mote_matrix_widen has made. */
static inline void mote_matrix_pairs(const mote_matrix_s8_t *m, int32_t row, const void *x, int32_t *result) {
    const uint32_t *words = (const uint32_t *)x;
    mote_matrix_sums((const int32_t *)m->weights + row / 4 * m->block, words, words + (m->depth + 7) / 8 * 4, result);
    mote_matrix_rescale(m, result);
}

static inline void mote_matrix_widen(const mote_matrix_s8_t *m, const int8_t *x, uint32_t *to) {
    mote_fc4_fill(mote_fc4_widen(x, m->depth, to), to + (m->depth + 7) / 8 * 4);
}

#if MOTE_DSP
/* Some fours of rows of one of the products of a gate; how a sum is rescaled: twice its multiplier, what rounds, and
 * the shift. */
typedef struct {
    const int32_t *weights;
    int32_t block; /* in bytes */
    const uint32_t *x;
    int32_t skip; /* steps that are missing to a multiple of four */
    int32_t twice, round, shift;
} mote_matrix_run_t;

typedef struct {
    mote_matrix_run_t input, recurrent;
    const uint32_t *ends[2];
    int16_t *gate, *stop;
} mote_matrix_gate_run_t;

/* Four sums of the run `at` bytes behind the pointer that lies on the stack, rescaled. */
#define MOTE_MATRIX_RUN(at, stack, end) \
    "ldr lr, [sp, #" stack "]\n\t" \
    "ldr r9, [lr, #" at "]\n\t" \
    "ldr r10, [lr, #" at "+4]\n\t" \
    "ldr r8, [lr, #" at "+8]\n\t" \
    "ldr r11, [lr, #" at "+12]\n\t" \
    "add r10, r10, r9\n\t" \
    "str r10, [lr, #" at "]\n\t" \
    "ldm r9!, {r0-r3}\n\t" \
    "tbb [pc, r11]\n" \
    "2:\n\t" \
    ".byte (3f - 2b) / 2, (4f - 2b) / 2, (5f - 2b) / 2, (6f - 2b) / 2\n" \
    "3:\n\t" MOTE_MATRIX_STEP "4:\n\t" MOTE_MATRIX_STEP "5:\n\t" MOTE_MATRIX_STEP "6:\n\t" MOTE_MATRIX_STEP \
    "ldr r10, [sp, #" end "]\n\t" \
    "cmp r8, r10\n\t" \
    "bne 3b\n\t" \
    "ldr lr, [sp, #" stack "]\n\t" MOTE_FC4_SPLIT_twice \
    "add lr, lr, #" at "+16\n\t" \
    "ldm lr, {r5-r7}\n\t" \
    MOTE_MATRIX_RESCALE("r0") MOTE_MATRIX_RESCALE("r1") MOTE_MATRIX_RESCALE("r2") MOTE_MATRIX_RESCALE("r3")

#define MOTE_MATRIX_STEP MOTE_FC4_widened MOTE_FC4_LOAD MOTE_FC4_TIMES8_twice

#define MOTE_MATRIX_RESCALE(sum) \
    "smmlar r4, " sum ", r5, " sum "\n\t" \
    "add r4, r4, r4, asr #31\n\t" \
    "add r4, r4, r6\n\t" \
    "asr " sum ", r4, r7\n\t"

#define MOTE_MATRIX_SATURATE \
    "ssat r0, #16, r0\n\t" \
    "ssat r1, #16, r1\n\t" \
    "ssat r2, #16, r2\n\t" \
    "ssat r3, #16, r3\n\t"

__attribute__((naked, noinline, unused)) static void mote_matrix_gate_run(
    mote_matrix_gate_run_t *run __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldrd r1, r2, [r0, #56]\n\t"
                     "push {r0-r2}\n"
                     "1:\n\t" MOTE_MATRIX_RUN("0", "0", "4") MOTE_MATRIX_SATURATE
                     "push {r0-r3}\n\t" MOTE_MATRIX_RUN("28", "16", "24")
                     "pop {r4-r7}\n\t"
                     "add r0, r0, r4\n\t"
                     "add r1, r1, r5\n\t"
                     "add r2, r2, r6\n\t"
                     "add r3, r3, r7\n\t" MOTE_MATRIX_SATURATE
                     "ldr lr, [sp]\n\t"
                     "ldrd r4, r5, [lr, #64]\n\t"
                     "strh r0, [r4], #2\n\t"
                     "strh r1, [r4], #2\n\t"
                     "strh r2, [r4], #2\n\t"
                     "strh r3, [r4], #2\n\t"
                     "str r4, [lr, #64]\n\t"
                     "cmp r4, r5\n\t"
                     "bne.w 1b\n\t"
                     "add sp, sp, #12\n\t"
                     "pop {r4-r11, pc}\n\t");
}

static inline mote_matrix_run_t mote_matrix_run_of(const mote_matrix_s8_t *m, const void *x) {
    const mote_matrix_run_t run = {(const int32_t *)m->weights, 4 * m->block,      (const uint32_t *)x,
                                   -((m->depth + 7) / 8) & 3,   (int32_t)((uint32_t)m->mult << 1), (int32_t)1 << m->shift,
                                   m->shift + 1};
    return run;
}

/* Whether products become smaller, by so much that what rounds them fits. */
static inline int mote_matrix_shrinks(const mote_matrix_s8_t *m) { return m->shift >= 0 && m->shift < 30; }

MOTE_NOINLINE void mote_matrix_gates_pairs(const mote_matrix_gate_t *g, int32_t rows, int16_t *gate) {
    const mote_matrix_s8_t *const input = g->input, *const recurrent = g->recurrent;
    const int32_t whole = rows & ~3;
    if (!mote_matrix_shrinks(input) || !mote_matrix_shrinks(recurrent)) {
        mote_matrix_gates(g, mote_matrix_pairs, rows, gate);
        return;
    }
    mote_matrix_gate_run_t run;
    run.input = mote_matrix_run_of(input, g->x);
    run.recurrent = mote_matrix_run_of(recurrent, g->h);
    run.ends[0] = run.input.x + (input->depth + 7) / 8 * 4;
    run.ends[1] = run.recurrent.x + (recurrent->depth + 7) / 8 * 4;
    run.gate = gate;
    run.stop = gate + whole;
    if (whole > 0) {
        mote_matrix_gate_run(&run);
    }
    if (whole < rows) {
        int16_t four[4];
        run.gate = four;
        run.stop = four + 4;
        mote_matrix_gate_run(&run);
        memcpy(gate + whole, four, (size_t)(rows - whole) * sizeof(int16_t));
    }
}
#else
static inline void mote_matrix_gates_pairs(const mote_matrix_gate_t *g, int32_t rows, int16_t *gate) {
    mote_matrix_gates(g, mote_matrix_pairs, rows, gate);
}
#endif

#endif
