/* mote_pointwise_blocks_halves.h: mote_pointwise_blocks_f32.h with weights of half precision. */
#ifndef MOTE_POINTWISE_BLOCKS_HALVES_H
#define MOTE_POINTWISE_BLOCKS_HALVES_H

#include "mote_block_halves.h"
#include "mote_pointwise_blocks_f32.h"

MOTE_POINTWISE_BLOCKS(halves, uint16_t)

#endif
