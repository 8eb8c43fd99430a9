/* mote_block_halves_helium.h: mote_block_halves.h, which includes it, with vectors. */
#ifndef MOTE_BLOCK_HALVES_HELIUM_H
#define MOTE_BLOCK_HALVES_HELIUM_H

#include "mote_block_f32_helium.h"

#if MOTE_HELIUM_FLOAT
/* vcvtb.f32.f16 of a register into itself, by its code: GNU as 2.40 encodes other registers than it is told. */
#define MOTE_WIDEN_q4 ".inst.w 0xfe3f8e09\n\t"
#define MOTE_WIDEN_q5 ".inst.w 0xfe3fae0b\n\t"
#define MOTE_BLOCK_WEIGHTS_halves(q) "vldrh.u32 " #q ", [%[w]], #8\n\t" MOTE_WIDEN_##q
#define MOTE_BLOCK_AT_halves "+&l"

MOTE_BLOCK_HELIUM(halves, uint16_t)
#define mote_block4_halves mote_block4_halves
#endif

#endif
