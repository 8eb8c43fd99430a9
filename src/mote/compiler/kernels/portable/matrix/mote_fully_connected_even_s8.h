/* mote_fully_connected_even_s8.h: int8 fully connected layer with sums that are rounded as mote_even.h says; see
 * mote_fully_connected_s8.h, which is for layers that have constants for rounding once. */
#ifndef MOTE_FULLY_CONNECTED_EVEN_S8_H
#define MOTE_FULLY_CONNECTED_EVEN_S8_H

#include "mote_even.h"

typedef mote_fully_connected_s8_t mote_fully_connected_even_s8_t;

#define MOTE_FINISH_FC_EVEN(sum, q, once, o) mote_requantize_even(sum, (q)->mult, (q)->shift, o)
MOTE_FULLY_CONNECTED_S8(fully_connected_even_s8, MOTE_FC_ITSELF, MOTE_FC_NO_PART, MOTE_FINISH_FC_EVEN)

#endif
