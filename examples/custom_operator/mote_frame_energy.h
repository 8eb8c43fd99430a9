/* mote_frame_energy.h: the energy of each frame of int8 samples, for the custom operator FrameEnergy. */
#ifndef MOTE_FRAME_ENERGY_H
#define MOTE_FRAME_ENERGY_H

#include <stdint.h>

typedef struct {
    int32_t frames, samples; /* frames, and samples of each */
    int32_t zero;            /* the zero point of the samples */
    int32_t shift;           /* from the operator's options */
} mote_frame_energy_t;

static inline void mote_frame_energy(const mote_frame_energy_t *p, const int8_t *in, int32_t *out) {
    for (int32_t f = 0; f < p->frames; f++) {
        int32_t energy = 0;
        for (int32_t i = 0; i < p->samples; i++) {
            const int32_t x = *in++ - p->zero;
            energy += (x * x) >> p->shift;
        }
        out[f] = energy;
    }
}

#endif
