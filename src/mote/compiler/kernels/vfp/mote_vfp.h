/* mote_vfp.h: whether the core has an FPU whose instructions kernels use. */
#ifndef MOTE_VFP_H
#define MOTE_VFP_H

#include "mote_compiler.h"

#if defined(__ARM_FP) && (__ARM_FP & 4) && defined(__thumb2__) && defined(__GNUC__) && !defined(MOTE_PORTABLE)
#define MOTE_VFP 1
#else
#define MOTE_VFP 0
#endif

/* The same for conversions of half precision: all FPUs of microcontrollers have them, whether or not a compiler says so. */
#if MOTE_VFP && ((__ARM_FP & 2) || (defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'))
#define MOTE_VFP_HALVES 1
#else
#define MOTE_VFP_HALVES 0
#endif

#endif
