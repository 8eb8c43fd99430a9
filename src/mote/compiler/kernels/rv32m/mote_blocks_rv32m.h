/* mote_blocks_rv32m.h: mote_blocks.h on RISC-V. */
#ifndef MOTE_BLOCKS_RV32M_H
#define MOTE_BLOCKS_RV32M_H

#include "mote_compiler.h"

#if defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_mul) && !defined(__riscv_32e) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)

/* Eight products of a channel in 16 instructions. a1: weights, t0 to t4: inputs, t5: 0x00FF00FF. */
#define MOTE_BLOCKS_RISCV(sum, at) \
    "lw a4, " at "(a1)\n\tlw a5, 4+" at "(a1)\n\tsrli a6, a4, 8\n\tmul a4, a4, t0\n\tsrli a7, a5, 8\n\tand a6, a6, t5\n\t" \
    "mul a5, a5, t2\n\tand a7, a7, t5\n\tmul a6, a6, t1\n\tadd a4, a4, t4\n\tmul a7, a7, t3\n\tadd a4, a4, a5\n\t" \
    "add a6, a6, a7\n\tadd a4, a4, a6\n\tsrai a4, a4, 16\n\tadd " sum ", " sum ", a4\n\t"
#define MOTE_BLOCKS_RISCV_EACH4(of) of("s0", "0") of("s1", "4") of("s2", "8") of("s3", "12")
#define MOTE_BLOCKS_RISCV_EACH8(of) \
    MOTE_BLOCKS_RISCV_EACH4(of) of("s4", "16") of("s5", "20") of("s6", "24") of("s7", "28")
#define MOTE_BLOCKS_RISCV_SAVE(s, at) "sw " s ", " at "(sp)\n\t"
#define MOTE_BLOCKS_RISCV_BEGIN(s, at) "lw " s ", " at "(a1)\n\t"
#define MOTE_BLOCKS_RISCV_OF(s, at) MOTE_BLOCKS_RISCV(s, "2*" at)
#define MOTE_BLOCKS_RISCV_END(s, at) "sw " s ", " at "(a3)\n\tlw " s ", " at "(sp)\n\t"

#define MOTE_BLOCKS_RISCV_LOOP(loop, each, sums, words) \
    __attribute__((naked, noinline, unused)) static const int32_t *mote_blocks_##loop( \
        const uint32_t *inputs __attribute__((unused)), const int32_t *stream __attribute__((unused)), \
        const uint32_t *end __attribute__((unused)), int32_t *sum __attribute__((unused))) { \
        __asm__ volatile( \
            "addi sp, sp, -32\n\t" each(MOTE_BLOCKS_RISCV_SAVE) each(MOTE_BLOCKS_RISCV_BEGIN) \
            "addi a1, a1, " sums "\n\tlui t5, 0xFF0\n\taddi t5, t5, 0xFF\n" \
            "1:\n\t" \
            "lw t0, 0(a0)\n\tlw t1, 4(a0)\n\tlw t2, 8(a0)\n\tlw t3, 12(a0)\n\tlw t4, 16(a0)\n\taddi a0, a0, 20\n\t" \
            each(MOTE_BLOCKS_RISCV_OF) "addi a1, a1, " words "\n\tbne a0, a2, 1b\n\t" each(MOTE_BLOCKS_RISCV_END) \
            "addi sp, sp, 32\n\tmv a0, a1\n\tret\n\t"); \
    }
MOTE_BLOCKS_RISCV_LOOP(joined4x8, MOTE_BLOCKS_RISCV_EACH4, "16", "32")
#define mote_blocks_joined4x8 mote_blocks_joined4x8
MOTE_BLOCKS_RISCV_LOOP(joined8x8, MOTE_BLOCKS_RISCV_EACH8, "32", "64")
#define mote_blocks_joined8x8 mote_blocks_joined8x8

#endif

#endif
