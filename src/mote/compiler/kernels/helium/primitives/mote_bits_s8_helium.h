/* mote_bits_s8_helium.h: mote_bits_s8.h, which includes it, with vectors. */
#ifndef MOTE_BITS_S8_HELIUM_H
#define MOTE_BITS_S8_HELIUM_H

#include "mote_helium.h"

#if MOTE_HELIUM
/* Two bytes of bits at once: 1 where least <= element <= most. The last one may be alone. */
__attribute__((naked, noinline, unused)) static void mote_bits_vectors(const int8_t *in __attribute__((unused)),
                                                                       uint8_t *out __attribute__((unused)),
                                                                       int32_t count __attribute__((unused)),
                                                                       int32_t least __attribute__((unused)),
                                                                       int32_t most __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldr r12, [sp, #8]\n\t"
                     "vdup.8 q1, r12\n\t"
                     "lsrs r12, r2, #1\n\t"
                     "beq 2f\n\t"
                     "dls lr, r12\n"
                     "1:\n\t"
                     "vldrb.u8 q0, [r0], #16\n\t"
                     "vpt.s8 ge, q0, r3\n\t"
                     "vcmpt.s8 le, q0, q1\n\t"
                     "vmrs r4, p0\n\t"
                     "strh r4, [r1], #2\n\t"
                     "le lr, 1b\n"
                     "2:\n\t"
                     "tst r2, #1\n\t"
                     "beq 3f\n\t"
                     "mov r12, #8\n\t"
                     "vctp.8 r12\n\t"
                     "vpst\n\t"
                     "vldrbt.u8 q0, [r0]\n\t"
                     "vpt.s8 ge, q0, r3\n\t"
                     "vcmpt.s8 le, q0, q1\n\t"
                     "vmrs r4, p0\n\t"
                     "strb r4, [r1]\n"
                     "3:\n\t"
                     "pop {r4, pc}\n\t");
}

static inline void mote_bits_between(const int8_t *in, uint8_t *out, int32_t count, int32_t low, int32_t high) {
    if (low >= 127 || high <= -128) {
        memset(out, 0, (size_t)count);
        return;
    }
    mote_bits_vectors(in, out, count, low < -128 ? -128 : low + 1, high > 128 ? 127 : high - 1);
}
#define mote_bits_between mote_bits_between

/* Two bytes of bits at once; the last one may be alone. */
__attribute__((naked, noinline, unused)) static void mote_bits_keep(const int8_t *in __attribute__((unused)),
                                                                    const uint8_t *mask __attribute__((unused)),
                                                                    int8_t *out __attribute__((unused)),
                                                                    int32_t count __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "lsrs r12, r3, #1\n\t"
                     "beq 2f\n\t"
                     "dls lr, r12\n"
                     "1:\n\t"
                     "ldrh r4, [r1], #2\n\t"
                     "vmsr p0, r4\n\t"
                     "vpst\n\t"
                     "vldrbt.u8 q0, [r0], #16\n\t"
                     "vstrb.8 q0, [r2], #16\n\t"
                     "le lr, 1b\n"
                     "2:\n\t"
                     "tst r3, #1\n\t"
                     "beq 3f\n\t"
                     "ldrb r4, [r1]\n\t"
                     "vmsr p0, r4\n\t"
                     "vpst\n\t"
                     "vldrbt.u8 q0, [r0]\n\t"
                     "mov r12, #8\n\t"
                     "vctp.8 r12\n\t"
                     "vpst\n\t"
                     "vstrbt.8 q0, [r2]\n"
                     "3:\n\t"
                     "pop {r4, pc}\n\t");
}
#define mote_bits_keep mote_bits_keep
#endif

#endif
