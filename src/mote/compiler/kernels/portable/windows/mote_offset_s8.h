/* mote_offset_s8.h: int8 convolutions whose weights have 9 bits: those of a uint8 model, less their zero point.
 *
 * A weight is a byte and an offset that all of them share, so that a sum has the offset times the sum of its inputs on
 * top, which is the same for all channels of a pixel.
 */
#ifndef MOTE_OFFSET_S8_H
#define MOTE_OFFSET_S8_H

#include "mote_conv2d_s8.h"
#include "mote_offset_part.h"
#include "mote_pointwise_s8.h"

typedef struct {
    mote_gemm_s8_t gemm;
    int32_t offset;
} mote_offset_t;

typedef struct {
    mote_offset_t layer;
} mote_pointwise_offset_s8_t;

typedef struct {
    mote_patch_t patch;
    mote_offset_t layer;
} mote_conv2d_offset_s8_t;

#define MOTE_OFFSET_GEMM(p) (&(p)->gemm)
#define MOTE_OFFSET_PART(p, x, depth) mote_offset_part(x, depth, (p)->offset)
MOTE_GEMM_S8(offset, mote_offset_t, MOTE_OFFSET_GEMM, MOTE_OFFSET_PART, mote_requantize)
MOTE_POINTWISE_S8(pointwise_offset_s8, layer, layer.gemm, offset)
MOTE_CONV2D_S8(conv2d_offset_s8, layer, layer.gemm, offset)

#endif
