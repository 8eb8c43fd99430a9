/* mote_fully_connected_offset_s8.h: int8 fully connected layer whose weights have 9 bits: a byte, packed as for
 * mote_fully_connected_s8.h or, with tables of steps, as in the model, and an offset that all of them share. */
#ifndef MOTE_FULLY_CONNECTED_OFFSET_S8_H
#define MOTE_FULLY_CONNECTED_OFFSET_S8_H

#include "mote_fully_connected_steps_s8.h"
#include "mote_offset_part.h"

typedef struct {
    mote_fully_connected_s8_t layer;
    int32_t offset;
} mote_fully_connected_offset_s8_t;

typedef struct {
    mote_fully_connected_steps_s8_t layer;
    int32_t offset;
} mote_fully_connected_offset_steps_s8_t;

#define MOTE_FC_LAYER(p) (&(p)->layer)
#define MOTE_FC_PART(p, in, depth) mote_offset_part(in, depth, (p)->offset)
MOTE_FULLY_CONNECTED_S8(fully_connected_offset_s8, MOTE_FC_LAYER, MOTE_FC_PART, mote_finish_fc)
MOTE_FULLY_CONNECTED_STEPS(fully_connected_offset_steps_s8, MOTE_FC_LAYER, MOTE_FC_PART)

#endif
