/* mote_rows_of.h: the functions of mote_rows.h and mote_ring.h that give pointers to rows, for elements of other types. */
#ifndef MOTE_ROWS_OF_H
#define MOTE_ROWS_OF_H

#include "mote_ring.h"
#include "mote_rows.h"

#define MOTE_ROWS_OF(suffix, type) \
    MOTE_PLACED_ROWS(suffix, type) \
    MOTE_RING_ROWS(suffix, type)

#endif
