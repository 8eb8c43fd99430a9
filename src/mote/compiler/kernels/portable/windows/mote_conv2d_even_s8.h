/* mote_conv2d_even_s8.h: int8 convolutions, of any window and of one pixel, with sums that are rounded as mote_even.h
 * says. */
#ifndef MOTE_CONV2D_EVEN_S8_H
#define MOTE_CONV2D_EVEN_S8_H

#include "mote_conv2d_s8.h"
#include "mote_even.h"
#include "mote_pointwise_s8.h"

typedef mote_pointwise_s8_t mote_pointwise_even_s8_t;
typedef mote_conv2d_s8_t mote_conv2d_even_s8_t;

#define MOTE_GEMM_ITSELF(p) (p)
#define MOTE_GEMM_NO_PART(p, x, depth) 0
MOTE_GEMM_S8(gemm_even, mote_gemm_s8_t, MOTE_GEMM_ITSELF, MOTE_GEMM_NO_PART, mote_requantize_even)
MOTE_POINTWISE_S8(pointwise_even_s8, gemm, gemm, gemm_even)
MOTE_CONV2D_S8(conv2d_even_s8, gemm, gemm, gemm_even)

#endif
