/* mote_conv2d_blocks_halves.h: mote_conv2d_blocks_f32.h with weights of half precision. */
#ifndef MOTE_CONV2D_BLOCKS_HALVES_H
#define MOTE_CONV2D_BLOCKS_HALVES_H

#include "mote_block_halves.h"
#include "mote_conv2d_blocks_f32.h"

MOTE_CONV2D_BLOCKS(halves, uint16_t)

#endif
