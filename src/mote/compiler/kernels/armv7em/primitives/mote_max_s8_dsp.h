/* mote_max_s8_dsp.h: mote_max_s8.h, which includes it, with DSP instructions. */
#ifndef MOTE_MAX_S8_DSP_H
#define MOTE_MAX_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP
/* The larger (or smaller) of each of four bytes. */
static inline uint32_t mote_max_bytes(uint32_t a, uint32_t b) {
    uint32_t r;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(r) : "r"(a), "r"(b));
    return r;
}

static inline uint32_t mote_min_bytes(uint32_t a, uint32_t b) {
    uint32_t r;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %2, %1" : "=&r"(r) : "r"(a), "r"(b));
    return r;
}

/* mote_max_1 for four neighbouring channels. */
static inline uint32_t mote_max_4(const int8_t *x, int32_t step, int32_t n, uint32_t most) {
    for (; n > 0; n--, x += step) {
        most = mote_max_bytes(most, mote_load4(x));
    }
    return most;
}
#define mote_max_4 mote_max_4
#endif

#endif
