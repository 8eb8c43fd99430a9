/* mote_move_items_helium.h: mote_move_items.h, which includes it, with vectors.
 *
 * Runs are moved as bytes, wherever they are. Several short ones go at once: a vector is loaded from, or stored to, places
 * that a register has, at most 255 bytes apart. */
#ifndef MOTE_MOVE_ITEMS_HELIUM_H
#define MOTE_MOVE_ITEMS_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* A run, 64 bytes at once. */
MOTE_UNUSED static inline void mote_helium_copy(const int8_t *in, int8_t *out, int32_t bytes) {
    int32_t blocks;
    __asm__ volatile("lsr %[blocks], %[bytes], #6\n\t"
                     "wls lr, %[blocks], 2f\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [%[in]], #16\n\t"
                     "vldrb.u8 q1, [%[in]], #16\n\t"
                     "vstrb.8 q0, [%[out]], #16\n\t"
                     "vldrb.u8 q2, [%[in]], #16\n\t"
                     "vstrb.8 q1, [%[out]], #16\n\t"
                     "vldrb.u8 q3, [%[in]], #16\n\t"
                     "vstrb.8 q2, [%[out]], #16\n\t"
                     "vstrb.8 q3, [%[out]], #16\n\t"
                     "le lr, 1b\n"
                     "2:\n\t"
                     "and %[blocks], %[bytes], #63\n\t"
                     "wlstp.8 lr, %[blocks], 4f\n"
                     "3:\n\t"
                     "vldrb.u8 q0, [%[in]], #16\n\t"
                     "vstrb.8 q0, [%[out]], #16\n\t"
                     "letp lr, 3b\n"
                     "4:\n\t"
                     : [in] "+&r"(in), [out] "+&r"(out), [blocks] "=&r"(blocks)
                     : [bytes] "r"(bytes)
                     : "lr", "q0", "q1", "q2", "q3", "cc", "memory");
}

MOTE_UNUSED static inline void mote_helium_fill(int8_t *out, int32_t value, int32_t bytes) {
    __asm__ volatile("vdup.8 q0, %[value]\n\t"
                     "wlstp.8 lr, %[bytes], 2f\n"
                     "1:\n\t"
                     "vstrb.8 q0, [%[out]], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     : [out] "+&r"(out)
                     : [value] "r"(value), [bytes] "r"(bytes)
                     : "lr", "q0", "cc", "memory");
}

/* `bytes` of each item, up to sixteen. */
static inline void mote_helium_columns(const int8_t *in, int8_t *out, int32_t items, int32_t in_step, int32_t out_step,
                                       int32_t bytes) {
    if (bytes == 16) {
        __asm__ volatile("wls lr, %[items], 2f\n"
                         "1:\n\t"
                         "vldrb.u8 q0, [%[in]]\n\t"
                         "add %[in], %[in], %[in_step]\n\t"
                         "vstrb.8 q0, [%[out]]\n\t"
                         "add %[out], %[out], %[out_step]\n\t"
                         "le lr, 1b\n"
                         "2:\n\t"
                         : [in] "+&r"(in), [out] "+&r"(out)
                         : [items] "r"(items), [in_step] "r"(in_step), [out_step] "r"(out_step)
                         : "lr", "q0", "cc", "memory");
        return;
    }
    __asm__ volatile("vctp.8 %[bytes]\n\t"
                     "wls lr, %[items], 2f\n"
                     "1:\n\t"
                     "vpstt\n\t"
                     "vldrbt.u8 q0, [%[in]]\n\t"
                     "vstrbt.8 q0, [%[out]]\n\t"
                     "add %[in], %[in], %[in_step]\n\t"
                     "add %[out], %[out], %[out_step]\n\t"
                     "le lr, 1b\n"
                     "2:\n\t"
                     : [in] "+&r"(in), [out] "+&r"(out)
                     : [items] "r"(items), [in_step] "r"(in_step), [out_step] "r"(out_step), [bytes] "r"(bytes)
                     : "lr", "q0", "cc", "memory");
}

/* The places q of the sixteen bytes of runs: the number of a byte's run, which is found by multiplying with 256 / run, times
 * the step, and its number in the run. */
#define MOTE_HELIUM_PLACES(q, step) \
    "mov r12, #0\n\t" \
    "vidup.u8 " q ", r12, #1\n\t" \
    "vdup.8 q0, r4\n\t" \
    "vmulh.u8 " q ", " q ", q0\n\t" \
    "vmul.i8 " q ", " q ", " step "\n\t" \
    "mov r12, #0\n\t" \
    "viwdup.u8 q0, r12, r3, #1\n\t" \
    "vadd.i8 " q ", " q ", q0\n\t"

typedef struct {
    int32_t run, inverse, in_step, out_step;
    int32_t times, bytes, left; /* vectors, bytes of one and of the last one */
    int32_t in_more, out_more;
} mote_helium_few_t;

/* Vectors of some runs, all bytes of them if those are `whole` ones, and one of runs that are left. */
#define MOTE_HELIUM_FEW(name, places, from, to, whole) \
    __attribute__((naked, noinline, unused)) static void mote_helium_##name( \
        const int8_t *in __attribute__((unused)), int8_t *out __attribute__((unused)), \
        const mote_helium_few_t *few __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "ldm r2, {r3-r11}\n\t" places "cmp r8, #16\n\t" \
                         "beq 3f\n\t" \
                         "vctp.8 r8\n\t" \
                         "wls lr, r7, 2f\n" \
                         "1:\n\t" \
                         "vpstt\n\t" \
                         "vldrbt.u8 q0, [" from "]\n\t" \
                         "vstrbt.8 q0, [" to "]\n\t" \
                         "add r0, r0, r10\n\t" \
                         "add r1, r1, r11\n\t" \
                         "le lr, 1b\n" \
                         "2:\n\t" \
                         "vctp.8 r9\n\t" \
                         "vpstt\n\t" \
                         "vldrbt.u8 q0, [" from "]\n\t" \
                         "vstrbt.8 q0, [" to "]\n\t" \
                         "pop {r4-r11, pc}\n" \
                         "3:\n\t" \
                         "cmp r7, #0\n\t" \
                         "beq 2b\n\t" \
                         "dls lr, r7\n" \
                         "4:\n\t" whole "le lr, 4b\n\t" \
                         "b 2b\n\t"); \
    }

MOTE_HELIUM_FEW(gather, MOTE_HELIUM_PLACES("q1", "r5"), "r0, q1", "r1",
                "vldrb.u8 q0, [r0, q1]\n\tadd r0, r0, r10\n\tvstrb.8 q0, [r1], #16\n\t")
MOTE_HELIUM_FEW(scatter, MOTE_HELIUM_PLACES("q2", "r6"), "r0", "r1, q2",
                "vldrb.u8 q0, [r0], #16\n\tvstrb.8 q0, [r1, q2]\n\tadd r1, r1, r11\n\t")
MOTE_HELIUM_FEW(few, MOTE_HELIUM_PLACES("q1", "r5") MOTE_HELIUM_PLACES("q2", "r6"), "r0, q1", "r1, q2",
                "vldrb.u8 q0, [r0, q1]\n\tadd r0, r0, r10\n\tvstrb.8 q0, [r1, q2]\n\tadd r1, r1, r11\n\t")

/* The last byte of `each` runs is in reach. */
static inline int32_t mote_helium_reaches(int32_t each, int32_t step, int32_t run) {
    return step >= 0 && step <= 255 && (each - 1) * step + run <= 256;
}

#define MOTE_HELIUM_RUN 64 /* bytes of the longest run that is moved in columns */

static inline void mote_move_few(const int8_t *in, int8_t *out, int32_t items, int32_t in_step, int32_t out_step,
                                 int32_t run) {
    const int32_t each = 16 / run, times = items / each;
    const mote_helium_few_t few = {run,   256 / run + 1, in_step, out_step, times, each * run, (items - times * each) * run,
                                   each * in_step, each * out_step};
    if (out_step == run) {
        mote_helium_gather(in, out, &few);
    } else if (in_step == run) {
        mote_helium_scatter(in, out, &few);
    } else {
        mote_helium_few(in, out, &few);
    }
}

static inline void mote_move_items(const int8_t *in, int8_t *out, int32_t items, int32_t in_step, int32_t out_step,
                                   int32_t run) {
    if (items > 1 && run <= 8) {
        const int32_t each = 16 / run;
        if (run > 1 && mote_helium_reaches(each, in_step, run) && mote_helium_reaches(each, out_step, run)) {
            mote_move_few(in, out, items, in_step, out_step, run);
            return;
        }
        if (run == 1 || run == 2 || run == 4) {
            mote_move_plainly(in, out, items, in_step, out_step, run);
            return;
        }
    }
    if (run <= MOTE_HELIUM_RUN && items > 1) {
        for (; run > 0; run -= 16, in += 16, out += 16) {
            mote_helium_columns(in, out, items, in_step, out_step, run < 16 ? run : 16);
        }
        return;
    }
    for (; items > 0; items--, in += in_step, out += out_step) {
        mote_helium_copy(in, out, run);
    }
}
#define mote_move_items mote_move_items

static inline void mote_fill_bytes(int8_t *out, int8_t value, int32_t bytes) { mote_helium_fill(out, value, bytes); }
#define mote_fill_bytes mote_fill_bytes

/* A matrix whose columns become rows: a vector is loaded down a column. */
#define MOTE_HELIUM_TURN(size, lanes, load, store, stored) \
    __asm__ volatile("mov %[a], #0\n\t" \
                     "vidup.u" lanes " q1, %[a], #1\n\t" \
                     "vmul.i" lanes " q1, q1, %[step]\n\t" \
                     "1:\n\t" \
                     "mov %[a], %[in]\n\t" \
                     "mov %[b], %[out]\n\t" \
                     "wlstp." lanes " lr, %[rows], 3f\n" \
                     "2:\n\t" load " q0, [%[a], q1]\n\t" \
                     "add %[a], %[a], %[more]\n\t" store " q0, [%[b]], #" stored "\n\t" \
                     "letp lr, 2b\n" \
                     "3:\n\t" \
                     "add %[in], %[in], #" size "\n\t" \
                     "add %[out], %[out], %[next]\n\t" \
                     "subs %[columns], %[columns], #1\n\t" \
                     "bne 1b\n\t" \
                     : [in] "+&r"(in), [out] "+&r"(out), [columns] "+&r"(columns), [a] "=&Te"(a), [b] "=&l"(b) \
                     : [rows] "r"(rows), [step] "r"(in_step), [next] "r"(out_step), [more] "r"(more) \
                     : "lr", "q0", "q1", "cc", "memory")

static inline void mote_turn_items(const int8_t *in, int8_t *out, int32_t rows, int32_t columns, int32_t in_step,
                                   int32_t out_step, int32_t size) {
    const int32_t odd = (int32_t)(((uintptr_t)in | (uintptr_t)out | (uintptr_t)in_step | (uintptr_t)out_step) & (uintptr_t)(size - 1));
    int32_t more = 8 * in_step, a, b;
    if (columns <= 0 || in_step < 0 || more > 65535 || odd || (size != 1 && size != 2 && size != 4)) {
        mote_turn_plainly(in, out, rows, columns, in_step, out_step, size);
    } else if (size == 4) {
        more = 4 * in_step;
        MOTE_HELIUM_TURN("4", "32", "vldrw.u32", "vstrw.32", "16");
    } else if (size == 2) {
        MOTE_HELIUM_TURN("2", "16", "vldrh.u16", "vstrh.16", "16");
    } else if (in_step <= 17) {
        more = 16 * in_step;
        MOTE_HELIUM_TURN("1", "8", "vldrb.u8", "vstrb.8", "16");
    } else {
        MOTE_HELIUM_TURN("1", "16", "vldrb.u16", "vstrb.16", "8");
    }
}
#define mote_turn_items mote_turn_items
#endif

#endif
