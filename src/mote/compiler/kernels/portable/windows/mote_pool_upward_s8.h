/* mote_pool_upward_s8.h: int8 average pooling over any window that rounds halves up, as uint8 models do. */
#ifndef MOTE_POOL_UPWARD_S8_H
#define MOTE_POOL_UPWARD_S8_H

#include "mote_pool_s8.h"

typedef mote_pool_s8_t mote_avg_pool_upward_s8_t;

MOTE_AVG_POOL_S8(avg_pool_upward_s8, 0)

#endif
