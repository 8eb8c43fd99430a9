/* mote_term_sums.h: sums of channels over terms, each a factor and a vector of bytes, for cores with Helium.
 *
 * Factors that are zero are no terms: about half of a gradient behind a RELU. */
#ifndef MOTE_TERM_SUMS_H
#define MOTE_TERM_SUMS_H

#include "mote_common.h"
#include "mote_helium.h"

typedef struct {
    int32_t at, by; /* where the vector begins, in bytes, and its factor */
} mote_vector_term_t;

#if MOTE_HELIUM
#define MOTE_TERM_BEGIN(q, at) "vldrw.u32 " q ", [r3, #" at "]\n\t"
#define MOTE_TERM_ADD(q, load, at) \
    "vldrb.s32 " load ", [r4, #" at "]\n\t" \
    "vmla.s32 " q ", " load ", r5\n\t"
#define MOTE_TERM_END(q, at) "vstrw.32 " q ", [r3, #" at "]\n\t"

/* Adds one or more terms of vectors from `base` on to so many sums. */
#define MOTE_TERM_SUMS(channels, begin, add, end) \
    __attribute__((naked, noinline, unused)) static void mote_term_sums_##channels( \
        const mote_vector_term_t *terms __attribute__((unused)), int32_t count __attribute__((unused)), \
        const int8_t *base __attribute__((unused)), int32_t *sums __attribute__((unused))) { \
        __asm__ volatile("push {r4-r6, lr}\n\t" \
                         "vpush {d8-d11}\n\t" \
                         "dls lr, r1\n\t" begin "1:\n\t" \
                         "ldrd r4, r5, [r0], #8\n\t" \
                         "add r4, r4, r2\n\t" add "le lr, 1b\n\t" end "vpop {d8-d11}\n\t" \
                         "pop {r4-r6, pc}\n\t"); \
    }

MOTE_TERM_SUMS(4, MOTE_TERM_BEGIN("q0", "0"), MOTE_TERM_ADD("q0", "q4", "0"), MOTE_TERM_END("q0", "0"))
MOTE_TERM_SUMS(8, MOTE_TERM_BEGIN("q0", "0") MOTE_TERM_BEGIN("q1", "16"),
               MOTE_TERM_ADD("q0", "q4", "0") MOTE_TERM_ADD("q1", "q5", "4"),
               MOTE_TERM_END("q0", "0") MOTE_TERM_END("q1", "16"))
MOTE_TERM_SUMS(12, MOTE_TERM_BEGIN("q0", "0") MOTE_TERM_BEGIN("q1", "16") MOTE_TERM_BEGIN("q2", "32"),
               MOTE_TERM_ADD("q0", "q4", "0") MOTE_TERM_ADD("q1", "q5", "4") MOTE_TERM_ADD("q2", "q4", "8"),
               MOTE_TERM_END("q0", "0") MOTE_TERM_END("q1", "16") MOTE_TERM_END("q2", "32"))
MOTE_TERM_SUMS(16,
               MOTE_TERM_BEGIN("q0", "0") MOTE_TERM_BEGIN("q1", "16") MOTE_TERM_BEGIN("q2", "32")
                   MOTE_TERM_BEGIN("q3", "48"),
               MOTE_TERM_ADD("q0", "q4", "0") MOTE_TERM_ADD("q1", "q5", "4") MOTE_TERM_ADD("q2", "q4", "8")
                   MOTE_TERM_ADD("q3", "q5", "12"),
               MOTE_TERM_END("q0", "0") MOTE_TERM_END("q1", "16") MOTE_TERM_END("q2", "32")
                   MOTE_TERM_END("q3", "48"))

/* So many words of a value, in fours. */
__attribute__((naked, noinline, unused)) static void mote_term_fill(int32_t *sums __attribute__((unused)),
                                                                    int32_t value __attribute__((unused)),
                                                                    int32_t count __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "vdup.32 q0, r1\n\t"
                     "wlstp.32 lr, r2, 2f\n"
                     "1:\n\t"
                     "vstrw.32 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}\n\t");
}

/* Adds the terms to sums of `channels`, which come in fours. */
static inline void mote_term_sums(const mote_vector_term_t *terms, int32_t count, const int8_t *base, int32_t channels,
                                  int32_t *sums) {
    if (count == 0) {
        return;
    }
    for (; channels >= 16; channels -= 16, base += 16, sums += 16) {
        mote_term_sums_16(terms, count, base, sums);
    }
    if (channels == 12) {
        mote_term_sums_12(terms, count, base, sums);
    } else if (channels == 8) {
        mote_term_sums_8(terms, count, base, sums);
    } else if (channels == 4) {
        mote_term_sums_4(terms, count, base, sums);
    }
}
#else
static inline void mote_term_fill(int32_t *sums, int32_t value, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        sums[i] = value;
    }
}

static inline void mote_term_sums(const mote_vector_term_t *terms, int32_t count, const int8_t *base, int32_t channels,
                                  int32_t *sums) {
    for (const mote_vector_term_t *const end = terms + count; terms < end; terms++) {
        for (int32_t c = 0; c < channels; c++) {
            sums[c] += terms->by * base[terms->at + c];
        }
    }
}
#endif

#endif
