/* mote_even_batch_matmul.h: `mote_batch_matmul.h` with sums that are rounded as mote_even.h says. */
#ifndef MOTE_EVEN_BATCH_MATMUL_H
#define MOTE_EVEN_BATCH_MATMUL_H

#include "mote_batch_matmul.h"
#include "mote_even.h"

typedef mote_matmul_s8_t mote_matmul_even_t;

#if MOTE_SUMS_WRAP
#define MOTE_MATMUL_EVEN(p, sum, all) \
    mote_requantize_even((int32_t)((uint32_t)(sum) - (uint32_t)(p)->right_zero * (uint32_t)(all)), (p)->mult, \
                         (p)->shift, (p)->output)
#else
#define MOTE_MATMUL_EVEN(p, sum, all) \
    mote_requantize_even((sum) - (p)->right_zero * (all), (p)->mult, (p)->shift, (p)->output)
#endif

#endif
