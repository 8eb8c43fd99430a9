/* mote_swar_rv32m.h: mote_swar.h on RISC-V. */
#ifndef MOTE_SWAR_RV32M_H
#define MOTE_SWAR_RV32M_H

#include "mote_compiler.h"

#if defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_mul) && !defined(MOTE_PORTABLE)

/* Ten instructions for four products of a channel. */
#define MOTE_SWAR_CHANNEL(sum, i) \
    do { \
        const uint32_t w_ = (uint32_t)stream[i]; \
        const uint32_t product_ = x0 * (w_ & mask) + x1 * (w_ >> 8 & mask) + more; \
        sum += (uint32_t)((int32_t)product_ >> 16); \
    } while (0)

MOTE_NOINLINE MOTE_HOT const int32_t *mote_swar_vector(const uint32_t *inputs, const int32_t *stream,
                                                       const uint32_t *end, int32_t *sum) {
    const uint32_t mask = 0x00FF00FFu;
    uint32_t a = (uint32_t)stream[0], b = (uint32_t)stream[1], c = (uint32_t)stream[2], d = (uint32_t)stream[3];
    for (stream += 4; inputs != end; inputs += 3, stream += 4) {
        const uint32_t x0 = inputs[0], x1 = inputs[1], more = inputs[2];
        MOTE_SWAR_CHANNEL(a, 0);
        MOTE_SWAR_CHANNEL(b, 1);
        MOTE_SWAR_CHANNEL(c, 2);
        MOTE_SWAR_CHANNEL(d, 3);
    }
    sum[0] = (int32_t)a, sum[1] = (int32_t)b, sum[2] = (int32_t)c, sum[3] = (int32_t)d;
    return stream;
}
#define mote_swar_vector mote_swar_vector

#endif

#endif
