/* mote_quantize.h: between float32 and int8. */
#ifndef MOTE_QUANTIZE_H
#define MOTE_QUANTIZE_H

#include "mote_quantize_run.h"

typedef struct {
    float scale;
    int32_t zero;
} mote_quantize_f32_s8_t;
typedef mote_quantize_f32_s8_t mote_dequantize_s8_f32_t;

static inline void mote_quantize_f32_s8(const mote_quantize_f32_s8_t *p, const float *in, int8_t *out, int32_t n) {
    const float scale = p->scale;
    const int32_t zero = p->zero;
    if (mote_quantize_vectors(in, out, n, scale, zero) || mote_quantize_fixed(in, out, n, scale, zero)) {
        return;
    }
    for (; n > 0; n--) {
        *out++ = mote_quantize_one(*in++, scale, zero);
    }
}

static inline void mote_dequantize_s8_f32(const mote_dequantize_s8_f32_t *p, const int8_t *in, float *out, int32_t n) {
    const float scale = p->scale;
    const int32_t zero = p->zero;
    for (; n > 0; n--) {
        *out++ = scale * (float)(*in++ - zero);
    }
}

#endif
