/* mote_clear.h: zeros for `bytes` bytes, a multiple of four, at an aligned address. */
#ifndef MOTE_CLEAR_H
#define MOTE_CLEAR_H

#include "mote_common.h"
#include "mote_clear_dsp.h"

#ifndef mote_clear
static inline void mote_clear(int8_t *to, int32_t bytes) {
    memset(to, 0, (size_t)bytes);
}
#endif

#endif
