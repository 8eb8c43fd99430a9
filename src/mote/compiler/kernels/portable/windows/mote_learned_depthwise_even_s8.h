/* mote_learned_depthwise_even_s8.h: int8 convolutions of each channel by itself whose weights and biases learn, with sums
 * that are rounded as mote_even.h says; see mote_learned_depthwise_s8.h. */
#ifndef MOTE_LEARNED_DEPTHWISE_EVEN_S8_H
#define MOTE_LEARNED_DEPTHWISE_EVEN_S8_H

#include "mote_learned_conv2d_even_s8.h"
#include "mote_learned_depthwise_s8.h"

typedef mote_learned_depthwise_s8_t mote_learned_depthwise_even_s8_t;

MOTE_LEARNED_DEPTHWISE_S8(learned_depthwise_even_s8, learned_result_even)

#endif
