/* mote_filters.h: filters of 16-bit samples, channels interleaved. */
#ifndef MOTE_FILTERS_H
#define MOTE_FILTERS_H

#include "mote_common.h"

static inline int16_t mote_sample(int32_t x) {
    return (int16_t)(x < INT16_MIN ? INT16_MIN : x > INT16_MAX ? INT16_MAX : x);
}

typedef struct {
    int32_t channels, shift;
} mote_remove_dc_t;

/* n samples of each channel without the running mean, which has 15 fraction bits; whatever a caller restored, it is that
 * of 16-bit samples. */
static inline void mote_remove_dc(const mote_remove_dc_t *p, const int16_t *in, int32_t *means, int16_t *out, int32_t n) {
    const int32_t least = INT32_C(-32768) * 32768, most = INT32_C(32767) * 32768, half = (int32_t)1 << (p->shift - 1);
    for (int32_t c = 0; c < p->channels; c++) {
        const int16_t *x = in + c;
        int16_t *y = out + c;
        int32_t mean = means[c] < least ? least : means[c] > most ? most : means[c];
        for (int32_t i = 0; i < n; i++, x += p->channels, y += p->channels) {
            const int32_t sample = *x;
            mean += (sample * 32768 - mean + half) >> p->shift;
            *y = mote_sample(sample - ((mean + 16384) >> 15));
        }
        means[c] = mean;
    }
}

#endif
