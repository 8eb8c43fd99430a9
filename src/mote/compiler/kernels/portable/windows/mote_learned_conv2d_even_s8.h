/* mote_learned_conv2d_even_s8.h: int8 convolutions and fully connected layers whose weights and biases learn, with sums
 * that are rounded as mote_even.h says; see mote_learned_conv2d_s8.h. */
#ifndef MOTE_LEARNED_CONV2D_EVEN_S8_H
#define MOTE_LEARNED_CONV2D_EVEN_S8_H

#include "mote_even.h"
#include "mote_learned_conv2d_s8.h"

typedef mote_learned_dense_s8_t mote_learned_dense_even_s8_t;
typedef mote_learned_conv2d_s8_t mote_learned_conv2d_even_s8_t;

static inline int8_t mote_learned_result_even(const mote_learned_layer_t *p, int32_t c, int32_t sum) {
    return mote_requantize_even(sum, p->channel[c].mult, p->channel[c].shift, p->output);
}

MOTE_LEARNED_PIXELS(learned_pixels_even, learned_result_even)
MOTE_LEARNED_DENSE_S8(learned_dense_even_s8, learned_pixels_even)
MOTE_LEARNED_CONV2D_S8(learned_conv2d_even_s8, learned_pixels_even)

#endif
