/* mote_quantize_run.h: runs of float32 that become int8.
 *
 * mote_quantize_vectors and mote_quantize_fixed quantize all n of them and say so, or do nothing: they give 0 on a core for which
 * there is nothing here, and for scales that they are not exact for. */
#ifndef MOTE_QUANTIZE_RUN_H
#define MOTE_QUANTIZE_RUN_H

#include "mote_common.h"

/* round(x / scale), halves away from zero. It must be a division: multiplying by the inverse rounds
 * differently. Adding 0.5 before truncating would too, just below a half. */
static inline int8_t mote_quantize_one(float in, float scale, int32_t zero) {
    const float steps = in / scale;
    const float x = !(steps > -256.0f) ? -256.0f : steps > 256.0f ? 256.0f : steps; /* NaN too */
    const int32_t whole = (int32_t)x;
    const float rest = x - (float)whole;
    return mote_clamp(zero + whole + (rest >= 0.5f) - (rest <= -0.5f), -128, 127);
}

#include "mote_quantize_run_helium.h"
#include "mote_quantize_run_vfp.h"

#ifndef mote_quantize_vectors
#define mote_quantize_vectors(in, out, n, scale, zero) 0
#endif
#ifndef mote_quantize_fixed
#define mote_quantize_fixed(in, out, n, scale, zero) 0
#endif

#endif
