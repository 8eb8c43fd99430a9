/* mote_block_halves_vfp.h: mote_block_halves.h, which includes it, with the FPU's conversion of either half of a register. */
#ifndef MOTE_BLOCK_HALVES_VFP_H
#define MOTE_BLOCK_HALVES_VFP_H

#include "mote_block_f32_vfp.h"

#if MOTE_VFP_HALVES && !MOTE_HELIUM_FLOAT
#define MOTE_BLOCK_WEIGHTS_halves \
    "vldmia %[w]!, {s30-s31}\n\t" \
    "vcvtb.f32.f16 s24, s30\n\t" \
    "vcvtt.f32.f16 s25, s30\n\t" \
    "vcvtb.f32.f16 s26, s31\n\t" \
    "vcvtt.f32.f16 s27, s31\n\t"
#define MOTE_BLOCK_BYTES_halves "3"

MOTE_BLOCK_VFP(halves, uint16_t)
#define mote_block4_halves mote_block4_halves
#define mote_block4_rows_halves mote_block4_rows_halves
#endif

#endif
