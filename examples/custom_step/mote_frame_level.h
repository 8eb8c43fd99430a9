/* mote_frame_level.h: the level of each frame, and how often it crosses zero. */
#ifndef MOTE_FRAME_LEVEL_H
#define MOTE_FRAME_LEVEL_H

#include "mote_common.h"

typedef struct {
    int32_t samples; /* of a frame: a row of the input */
    int32_t shift;   /* the mean is the sum of absolute values shifted right */
} mote_frame_level_t;

static inline void mote_frame_level(const mote_frame_level_t *p, const int16_t *in, int16_t *out, int32_t n) {
    for (; n > 0; n--) {
        uint32_t sum = 0;
        int16_t crossings = 0;
        for (int32_t i = 0; i < p->samples; i++) {
            sum += (uint32_t)(in[i] < 0 ? -(int32_t)in[i] : in[i]);
            if (i > 0 && (in[i] < 0) != (in[i - 1] < 0)) {
                crossings++;
            }
        }
        sum >>= p->shift;
        *out++ = (int16_t)(sum > 32767u ? 32767u : sum);
        *out++ = crossings;
        in += p->samples;
    }
}

#endif
