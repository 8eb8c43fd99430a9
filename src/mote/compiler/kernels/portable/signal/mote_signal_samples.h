/* mote_signal_samples.h: windows over samples, their scale, and the energies of a spectrum. */
#ifndef MOTE_SIGNAL_SAMPLES_H
#define MOTE_SIGNAL_SAMPLES_H

#include "mote_common.h"

static inline int16_t mote_sample_s16(int32_t x) {
    return (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

typedef struct {
    int32_t size, shift;
    const int16_t *window;
} mote_signal_window_t;

static inline void mote_signal_window(const mote_signal_window_t *p, const int16_t *in, int16_t *out, int32_t vectors) {
    for (; vectors > 0; vectors--) {
        for (int32_t i = 0; i < p->size; i++) {
            *out++ = mote_sample_s16(((int32_t)*in++ * p->window[i]) >> p->shift);
        }
    }
}

typedef struct {
    int32_t size;
} mote_scale_bits_t;

/* By how many bits samples can be shifted left. The lowest sample has no absolute value of 16 bits: it is less than all
 * that come after it. */
static inline void mote_scale_bits(const mote_scale_bits_t *p, const int16_t *in, int32_t *out) {
    int32_t largest = 0;
    for (int32_t i = 0; i < p->size; i++) {
        if (in[i] > largest) {
            largest = in[i];
        } else if (-(int32_t)in[i] > largest) {
            largest = in[i] == INT16_MIN ? INT16_MIN : -(int32_t)in[i];
        }
    }
    int32_t bits = 0;
    if (largest > 0) {
        for (bits = 15; largest > 0; largest >>= 1) {
            bits--;
        }
    }
    *out = bits;
}

typedef struct {
    int32_t size;
} mote_scaled_t;

static inline void mote_scaled(const mote_scaled_t *p, const int16_t *in, const int32_t *bits, int16_t *out) {
    const int32_t factor = (int32_t)1 << (*bits & 15);
    for (int32_t i = 0; i < p->size; i++) {
        out[i] = (int16_t)(in[i] * factor);
    }
}

typedef struct {
    int32_t bins, start, end;
} mote_signal_energy_t;

static inline void mote_signal_energy(const mote_signal_energy_t *p, const int16_t *in, uint32_t *out) {
    memset(out, 0, (size_t)p->start * sizeof(uint32_t));
    for (int32_t i = p->start; i < p->end; i++) {
        const int32_t r = in[2 * i], j = in[2 * i + 1];
        out[i] = (uint32_t)(r * r) + (uint32_t)(j * j);
    }
    memset(out + p->end, 0, (size_t)(p->bins - p->end) * sizeof(uint32_t));
}

#endif
