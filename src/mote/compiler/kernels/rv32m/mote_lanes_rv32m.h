/* mote_lanes_rv32m.h: mote_lanes_s8.h on RISC-V. */
#ifndef MOTE_LANES_RV32M_H
#define MOTE_LANES_RV32M_H

#include "mote_compiler.h"

/* x, bounded by lo and hi. */
#ifdef __riscv_zbb
#define MOTE_RV32_CLAMP(x, lo, hi) "max " x ", " x ", " lo "\n\tmin " x ", " x ", " hi "\n\t"
#else
#define MOTE_RV32_CLAMP(x, lo, hi) \
    "bge " x ", " lo ", 6f\n\tmv " x ", " lo "\n" \
    "6:\n\t" \
    "bge " hi ", " x ", 7f\n\tmv " x ", " hi "\n" \
    "7:\n\t"
#endif

#if defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_mul) && !defined(__riscv_32e) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)

/* Three words at a1 times weights. */
#define MOTE_LANES_GROUP(w0, w1, w2) \
    "lw t3, 0(a1)\n\t" \
    "lw t4, 4(a1)\n\t" \
    "mul t2, t3, " w0 "\n\t" \
    "lw t3, 8(a1)\n\t" \
    "mul t4, t4, " w1 "\n\t" \
    "add t2, t2, a4\n\t" \
    "mul t3, t3, " w2 "\n\t" \
    "add t2, t2, t4\n\t" \
    "add t2, t2, t3\n\t" \
    "add t0, t0, t2\n\t" \
    "srai t2, t2, 16\n\t" \
    "add t1, t1, t2\n\t"
#define MOTE_LANES_ROUND_plain(sum) ""
#define MOTE_LANES_ROUND_halves(sum) \
    "addi " sum ", " sum ", 1\n\tsrai t2, " sum ", 31\n\tsrai " sum ", " sum ", 1\n\tadd " sum ", " sum ", t2\n\t"
#define MOTE_LANES_STORE(form, sum, to) \
    "slli " sum ", " sum ", 2\n\tmulh " sum ", " sum ", a5\n\t" MOTE_LANES_ROUND_##form(sum) \
    "add " sum ", " sum ", a6\n\tsra " sum ", " sum ", a7\n\t" MOTE_RV32_CLAMP(sum, "t5", "t6") \
    "sb " sum ", 0(" to ")\n\t"
#define MOTE_LANES_SAVED(each) \
    each("s0", "0") each("s1", "4") each("s2", "8") each("s3", "12") each("s4", "16") each("s5", "20") \
        each("s6", "24") each("s7", "28") each("s8", "32") each("s9", "36") each("s10", "40") each("s11", "44") \
            each("ra", "48")
#define MOTE_LANES_SAVE(saved, at) "sw " saved ", " at "(sp)\n\t"
#define MOTE_LANES_RESTORE(saved, at) "lw " saved ", " at "(sp)\n\t"
#define MOTE_LANES_SCALES "lw t2, 40(a0)\n\tlw a5, 0(t2)\n\tlw a6, 4(t2)\n\t"

/* Weights that were spilled, whose list is at t2: so many as t3 says, of words from t4 on. */
#define MOTE_LANES_SPILLED \
    "5:\n\t" \
    "lh a5, 2(t2)\n\tlh a6, 4(t2)\n\taddi t2, t2, 4\n\tadd a5, a5, t4\n\tlw a5, 0(a5)\n\taddi t3, t3, -1\n\t" \
    "mul a5, a5, a6\n\tadd t0, t0, a5\n\tadd a5, a5, a4\n\tsrai a5, a5, 16\n\tadd t1, t1, a5\n\t" \
    "bnez t3, 5b\n\t" MOTE_LANES_SCALES

/* s0..s8: weights, s9, s10: outputs, s11: from one to the next, ra: windows; a1: words, a2, a3: from a column to the
 * next, from a window to the next; t0: T, t1: H. */
#define MOTE_LANES_NINE_RISCV(name, form) \
    __attribute__((naked, noinline, unused)) static void mote_lanes_nine_##name( \
        mote_lanes_windows_t *t __attribute__((unused))) { \
        __asm__ volatile( \
            "addi sp, sp, -64\n\t" MOTE_LANES_SAVED(MOTE_LANES_SAVE) \
            "lw a1, 0(a0)\n\tlw t0, 4(a0)\n\tlw s9, 8(a0)\n\tlw s10, 12(a0)\n\tlw ra, 16(a0)\n\tlw s11, 20(a0)\n\t" \
            "lw a3, 24(a0)\n\tlw a2, 28(a0)\n\taddi a2, a2, 12\n\tslli t1, a2, 1\n\tsub a3, a3, t1\n\tlui a4, 8\n\t" \
            "lw s0, 0(t0)\n\tlw s1, 4(t0)\n\tlw s2, 8(t0)\n\tlw s3, 12(t0)\n\tlw s4, 16(t0)\n\tlw s5, 20(t0)\n\t" \
            "lw s6, 24(t0)\n\tlw s7, 28(t0)\n\tlw s8, 32(t0)\n\t" MOTE_LANES_SCALES \
            "lw a7, 8(t2)\n\tlw t5, 56(a0)\n\tlw t6, 60(a0)\n" \
            "1:\n\t" \
            "lw t0, 32(a0)\n\tlw t1, 36(a0)\n\t" MOTE_LANES_GROUP("s0", "s1", "s2") \
            "add a1, a1, a2\n\t" MOTE_LANES_GROUP("s3", "s4", "s5") \
            "add a1, a1, a2\n\t" MOTE_LANES_GROUP("s6", "s7", "s8") \
            "lw t2, 44(a0)\n\tlh t3, 0(t2)\n\tbnez t3, 4f\n" \
            "3:\n\t" \
            "add a1, a1, a3\n\tslli t2, t1, 16\n\tsub t0, t0, t2\n\t" MOTE_LANES_STORE(form, "t0", "s9") \
            MOTE_LANES_STORE(form, "t1", "s10") \
            "add s9, s9, s11\n\tadd s10, s10, s11\n\taddi ra, ra, -1\n\tbnez ra, 1b\n\t" \
            MOTE_LANES_SAVED(MOTE_LANES_RESTORE) \
            "addi sp, sp, 64\n\tret\n" \
            "4:\n\t" /* weights that were spilled */ \
            "slli t4, a2, 1\n\tsub t4, a1, t4\n" \
            MOTE_LANES_SPILLED "j 3b\n\t"); \
    }

/* A group at offset `at` of both words and weights, s0. */
#define MOTE_LANES_GROUP_AT(at) \
    "lw t2, " at "(a1)\n\tlw t3, " at "(s0)\n\tlw t4, 4+" at "(a1)\n\tlw t5, 4+" at "(s0)\n\tmul t2, t2, t3\n\t" \
    "lw t3, 8+" at "(a1)\n\tlw t6, 8+" at "(s0)\n\tmul t4, t4, t5\n\tadd t2, t2, a4\n\tmul t3, t3, t6\n\t" \
    "add t2, t2, t4\n\tadd t2, t2, t3\n\tadd t0, t0, t2\n\tsrai t2, t2, 16\n\tadd t1, t1, t2\n\t"

/* Columns of several groups. s4, s5: outputs, s6: from one to the next, s7: windows, s8: words of one, s9: from one to
 * the next. */
#define MOTE_LANES_COLUMNS_RISCV(name, form, column, bytes) \
    __attribute__((naked, noinline, unused)) static void mote_lanes_##name( \
        mote_lanes_windows_t *t __attribute__((unused))) { \
        __asm__ volatile( \
            "addi sp, sp, -64\n\t" MOTE_LANES_SAVED(MOTE_LANES_SAVE) \
            "lw s8, 0(a0)\n\tlw s9, 24(a0)\n\tlw s4, 8(a0)\n\tlw s5, 12(a0)\n\tlw s7, 16(a0)\n\tlw s6, 20(a0)\n\t" \
            "lw a2, 28(a0)\n\taddi a2, a2, " bytes "\n\tlui a4, 8\n\t" MOTE_LANES_SCALES "lw a7, 8(t2)\n" \
            "1:\n\t" \
            "lw t0, 32(a0)\n\tlw t1, 36(a0)\n\tmv a1, s8\n\tlw s0, 4(a0)\n\tlw s1, 48(a0)\n" \
            "2:\n\t" column "addi s0, s0, " bytes "\n\tadd a1, a1, a2\n\taddi s1, s1, -1\n\tbnez s1, 2b\n\t" \
            "lw t2, 44(a0)\n\tlh t3, 0(t2)\n\tbnez t3, 4f\n" \
            "3:\n\t" \
            "add s8, s8, s9\n\tslli t2, t1, 16\n\tsub t0, t0, t2\n\tlw t5, 56(a0)\n\tlw t6, 60(a0)\n\t" \
            MOTE_LANES_STORE(form, "t0", "s4") MOTE_LANES_STORE(form, "t1", "s5") \
            "add s4, s4, s6\n\tadd s5, s5, s6\n\taddi s7, s7, -1\n\tbnez s7, 1b\n\t" \
            MOTE_LANES_SAVED(MOTE_LANES_RESTORE) \
            "addi sp, sp, 64\n\tret\n" \
            "4:\n\t" \
            "mv t4, s8\n" MOTE_LANES_SPILLED "j 3b\n\t"); \
    }
#define MOTE_LANES_COLUMNS_OF(form, rounded) \
    MOTE_LANES_COLUMNS_RISCV(twos_##form, rounded, MOTE_LANES_GROUP_AT("0") MOTE_LANES_GROUP_AT("12"), "24") \
    MOTE_LANES_COLUMNS_RISCV(threes_##form, rounded, \
                             MOTE_LANES_GROUP_AT("0") MOTE_LANES_GROUP_AT("12") MOTE_LANES_GROUP_AT("24"), "36")

MOTE_LANES_NINE_RISCV(plain, plain)
MOTE_LANES_NINE_RISCV(halves, halves)
MOTE_LANES_NINE_RISCV(plain_full, plain)
MOTE_LANES_NINE_RISCV(halves_full, halves)
MOTE_LANES_COLUMNS_OF(plain, plain)
MOTE_LANES_COLUMNS_OF(halves, halves)
MOTE_LANES_COLUMNS_OF(plain_full, plain)
MOTE_LANES_COLUMNS_OF(halves_full, halves)
#define mote_lanes_nine_plain mote_lanes_nine_plain
#define mote_lanes_nine_halves mote_lanes_nine_halves
#define mote_lanes_nine_plain_full mote_lanes_nine_plain_full
#define mote_lanes_nine_halves_full mote_lanes_nine_halves_full
#define mote_lanes_twos_plain mote_lanes_twos_plain
#define mote_lanes_twos_halves mote_lanes_twos_halves
#define mote_lanes_twos_plain_full mote_lanes_twos_plain_full
#define mote_lanes_twos_halves_full mote_lanes_twos_halves_full

#endif

#endif
