/* mote_mend_depthwise_taps_s8.h: the kernels of mote_depthwise_taps_s8.h with results that are mended; see mote_mend_s8.h. */
#ifndef MOTE_MEND_DEPTHWISE_TAPS_S8_H
#define MOTE_MEND_DEPTHWISE_TAPS_S8_H

#include "mote_depthwise_taps_s8.h"
#include "mote_mend_s8.h"

#endif
