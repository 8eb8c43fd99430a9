/* mote_lut_s16.h: any function of one int16 tensor, as the ends of 512 lines: bit for bit as LiteRT interpolates. */
#ifndef MOTE_LUT_S16_H
#define MOTE_LUT_S16_H

#include "mote_runs_s16.h"

typedef struct {
    const int16_t *ends; /* 513, from the input -32768 up, 128 inputs apart */
} mote_lut_s16_t;

/* Between the ends of the line that x is on. The slope and the sum wrap. */
static inline int16_t mote_interpolate_s16(const int16_t *ends, int32_t x) {
    const int16_t *const line = ends + 256 + (x >> 7);
    const int32_t slope = (int16_t)((int32_t)line[1] - line[0]);
    return (int16_t)(line[0] + ((slope * (x & 127) + 64) >> 7));
}

static inline void mote_lut_s16(const mote_lut_s16_t *p, const int16_t *in, int16_t *out, int32_t n) {
    const int16_t *const ends = p->ends;
    if (mote_lut_run_s16(ends, in, out, n)) {
        return;
    }
    for (; n > 0; n--) {
        *out++ = mote_interpolate_s16(ends, *in++);
    }
}

#endif
