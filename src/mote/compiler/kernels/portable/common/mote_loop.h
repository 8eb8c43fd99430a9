/* mote_loop.h: one loop over a tensor, as data. */
#ifndef MOTE_LOOP_H
#define MOTE_LOOP_H

#include "mote_common.h"

typedef struct {
    int32_t size, step; /* how often, and how many elements further each time */
} mote_loop_t;

#endif
