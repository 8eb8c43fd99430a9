/* mote_vectors_avr_s8.h: fully connected layers and 1x1 convolutions on AVR: each pixel is a vector of its own. */
#ifndef MOTE_VECTORS_AVR_S8_H
#define MOTE_VECTORS_AVR_S8_H

#include "mote_gemm_avr_s8.h"

typedef struct {
    mote_gemm_avr_s8_t gemm;
} mote_vectors_avr_s8_t;

static inline void mote_vectors_avr_s8(const mote_vectors_avr_s8_t *p, const int8_t *in, int8_t *out, int32_t vectors) {
    for (uint16_t left = (uint16_t)vectors; left > 0; left--) {
        mote_gemm_avr(&p->gemm, in, out);
        in += (uint16_t)p->gemm.depth;
        out += (uint16_t)p->gemm.channels;
    }
}

#endif
