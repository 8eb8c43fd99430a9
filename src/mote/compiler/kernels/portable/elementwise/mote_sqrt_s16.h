/* mote_sqrt_s16.h: SQRT of int16 tensors with the zero point 0, in floating point and rounded towards zero, as LiteRT. */
#ifndef MOTE_SQRT_S16_H
#define MOTE_SQRT_S16_H

#include "mote_math.h"

typedef struct {
    float in_scale, out_scale;
} mote_sqrt_s16_t;

/* Negative numbers count as zero. It must be a division: multiplying by the inverse rounds differently. */
static inline void mote_sqrt_s16(const mote_sqrt_s16_t *p, const int16_t *in, int16_t *out, int32_t n) {
    for (; n > 0; n--) {
        const int32_t x = *in++;
        const float steps = mote_sqrtf(p->in_scale * (float)(x < 0 ? 0 : x)) / p->out_scale;
        *out++ = (int16_t)(steps < 32767.0f ? (int32_t)steps : 32767);
    }
}

#endif
