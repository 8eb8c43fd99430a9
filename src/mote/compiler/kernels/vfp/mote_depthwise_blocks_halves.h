/* mote_depthwise_blocks_halves.h: mote_depthwise_blocks_f32.h with weights of half precision. */
#ifndef MOTE_DEPTHWISE_BLOCKS_HALVES_H
#define MOTE_DEPTHWISE_BLOCKS_HALVES_H

#include "mote_block_halves.h"
#include "mote_depthwise_blocks_f32.h"

MOTE_DEPTHWISE_BLOCKS(halves, uint16_t)

#endif
