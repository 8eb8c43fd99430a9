/* mote_mend_gemm4_s8.h: the kernels of mote_gemm4_s8.h with results that are mended; see mote_mend_s8.h. */
#ifndef MOTE_MEND_GEMM4_S8_H
#define MOTE_MEND_GEMM4_S8_H

#include "mote_gemm4_s8.h"
#include "mote_mend_s8.h"

#endif
