/* mote_depthwise_even_s8.h: int8 depthwise convolution with sums that are rounded as mote_even.h says; see
 * mote_depthwise_s8.h for weights and windows. */
#ifndef MOTE_DEPTHWISE_EVEN_S8_H
#define MOTE_DEPTHWISE_EVEN_S8_H

#include "mote_depthwise_s8.h"
#include "mote_even.h"

typedef mote_depthwise_s8_t mote_depthwise_even_s8_t;

MOTE_DEPTHWISE_S8(depthwise_even_s8, MOTE_DEPTHWISE_ITSELF, rows, MOTE_DEPTHWISE_4, MOTE_DEPTHWISE_1, MOTE_FINISH_LOOP,
                  mote_requantize_even)

#endif
