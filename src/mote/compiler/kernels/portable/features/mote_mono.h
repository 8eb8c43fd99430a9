/* mote_mono.h: the mean of the channels of samples. */
#ifndef MOTE_MONO_H
#define MOTE_MONO_H

#include "mote_common.h"

typedef struct {
    int32_t channels;
} mote_mono_t;

/* Rounded to the nearest, halves up; the sum is made positive, since C's division rounds towards zero. */
static inline void mote_mono(const mote_mono_t *p, const int16_t *in, int16_t *out, int32_t n) {
    const int32_t twice = 2 * p->channels;
    for (; n > 0; n--) {
        int32_t sum = p->channels + 32768 * twice;
        for (int32_t c = p->channels; c > 0; c--) {
            sum += 2 * (int32_t)*in++;
        }
        *out++ = (int16_t)(sum / twice - 32768);
    }
}

#endif
