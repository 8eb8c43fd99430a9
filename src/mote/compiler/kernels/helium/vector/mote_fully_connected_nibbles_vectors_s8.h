/* mote_fully_connected_nibbles_vectors_s8.h: mote_fully_connected_nibbles_s8.h for cores with Helium.
 *
 * A vector has the weights of an output for 32 inputs: those of the first sixteen in the low halves of its bytes. */
#ifndef MOTE_FULLY_CONNECTED_NIBBLES_VECTORS_S8_H
#define MOTE_FULLY_CONNECTED_NIBBLES_VECTORS_S8_H

#include "mote_fully_connected_nibbles_s8.h"
#include "mote_helium.h"

#define MOTE_NIBBLES_vectors 32

#if MOTE_HELIUM
/* The weights of the next output to q2 and q3, or q5 and q6, with the products of the one before in between. */
#define MOTE_NIBBLES_NEXT(high, low, first, second) \
    "vldrb.u8 " high ", [r1], #16\n" \
    "vand " low ", " high ", q4\n" first \
    "vshr.u8 " high ", " high ", #4\n" second
#define MOTE_NIBBLES_LOW(sum, low) "vmladava.s8 " sum ", q0, " low "\n"
#define MOTE_NIBBLES_HIGH(sum, high) "vmladava.s8 " sum ", q1, " high "\n"
#define MOTE_NIBBLES_BEHIND(high, low, sum, before_high, before_low) \
    MOTE_NIBBLES_NEXT(high, low, MOTE_NIBBLES_LOW(sum, before_low), MOTE_NIBBLES_HIGH(sum, before_high))
#define MOTE_NIBBLES_ODD(sum) MOTE_NIBBLES_BEHIND("q5", "q6", sum, "q2", "q3")
#define MOTE_NIBBLES_EVEN(sum) MOTE_NIBBLES_BEHIND("q2", "q3", sum, "q5", "q6")
#define MOTE_NIBBLES_THREE MOTE_NIBBLES_NEXT("q2", "q3", "", "") MOTE_NIBBLES_ODD("r0") MOTE_NIBBLES_EVEN("r2")
#define MOTE_NIBBLES_LAST(sum) MOTE_NIBBLES_ODD("r4") MOTE_NIBBLES_LOW(sum, "q6") MOTE_NIBBLES_HIGH(sum, "q5")
#define MOTE_NIBBLES_MORE \
    MOTE_NIBBLES_ODD("r4") MOTE_NIBBLES_EVEN("r6") MOTE_NIBBLES_ODD("r8") MOTE_NIBBLES_EVEN("r10") \
    MOTE_NIBBLES_ODD("r12") MOTE_NIBBLES_LOW("lr", "q6") MOTE_NIBBLES_HIGH("lr", "q5")

/* 42 instructions for 32 inputs and eight outputs. */
#define MOTE_NIBBLES_VECTORS(name, registers, products) \
    __attribute__((naked, noinline, unused)) static void name( \
        const int8_t *x __attribute__((unused)), const uint32_t *w __attribute__((unused)), \
        int32_t groups __attribute__((unused)), int32_t *sums __attribute__((unused))) { \
        __asm__ volatile("push {r3-r11, lr}\n" \
                         "vpush {d8-d13}\n" \
                         "mov r11, r2\n" \
                         "mov r9, r3\n" \
                         "mov r3, r0\n" \
                         "vmov.i8 q4, #15\n" \
                         "ldm r9, " registers "\n" \
                         "1:\n" \
                         "vldrb.u8 q0, [r3], #16\n" \
                         "vldrb.u8 q1, [r3], #16\n" products \
                         "subs r11, r11, #1\n" \
                         "bne.w 1b\n" \
                         "vpop {d8-d13}\n" \
                         "pop {r3}\n" \
                         "stm r3, " registers "\n" \
                         "pop {r4-r11, pc}\n"); \
    }
MOTE_NIBBLES_VECTORS(mote_nibbles_eight_vectors, "{r0, r2, r4, r6, r8, r10, r12, lr}",
                     MOTE_NIBBLES_THREE MOTE_NIBBLES_MORE)
MOTE_NIBBLES_VECTORS(mote_nibbles_four_vectors, "{r0, r2, r4, r6}", MOTE_NIBBLES_THREE MOTE_NIBBLES_LAST("r6"))
#else
static inline void mote_nibbles_vectors_c(const int8_t *x, const uint32_t *w, int32_t groups, int32_t outputs,
                                          int32_t *sums) {
    for (; groups > 0; groups--, x += 32, w += 4 * outputs) {
        for (int32_t i = 0; i < 32; i++) {
            for (int32_t c = 0; c < outputs; c++) {
                const uint32_t word = w[4 * c + i % 16 / 4];
                sums[c] = mote_wrapping_add(sums[c], x[i] * (int32_t)(word >> (i % 4 * 8 + i / 16 * 4) & 15));
            }
        }
    }
}

MOTE_UNUSED static inline void mote_nibbles_eight_vectors(const int8_t *x, const uint32_t *w, int32_t groups,
                                                          int32_t *sums) {
    mote_nibbles_vectors_c(x, w, groups, 8, sums);
}

MOTE_UNUSED static inline void mote_nibbles_four_vectors(const int8_t *x, const uint32_t *w, int32_t groups,
                                                         int32_t *sums) {
    mote_nibbles_vectors_c(x, w, groups, 4, sums);
}
#endif

#endif
