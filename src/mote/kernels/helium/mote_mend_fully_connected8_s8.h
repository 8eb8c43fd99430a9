/* mote_mend_fully_connected8_s8.h: the kernels of mote_fully_connected8_s8.h with results that are mended; see mote_mend_s8.h. */
#ifndef MOTE_MEND_FULLY_CONNECTED8_S8_H
#define MOTE_MEND_FULLY_CONNECTED8_S8_H

#include "mote_fully_connected8_s8.h"
#include "mote_mend_s8.h"

#endif
