/* mote_erfc.h: the complementary error function of float32: see mote_math.h. */
#ifndef MOTE_ERFC_H
#define MOTE_ERFC_H

#include "mote_math.h"

/* erfc(x), within 6 ulp: near zero 1 - erf(x), which is odd; else, for x > 0, exp(-x^2) / (1 + 2x) times a polynomial of
 * (x - 3) / (x + 3). The square is that of the upper bits of x, which is exact, and the rest, from -0.04 to 0, whose
 * exponential is the beginning of its series. */
static inline float mote_erfcf(float x) {
    const float size = mote_fabsf(x), upper = mote_float(mote_bits_of(size) & 0xfffff000u);
    const float rest = (upper - size) * (upper + size);
    float y = -0.000268129137f, t;
    if (size < 0.5f) {
        const float square = x * x;
        y = ((0.00471992837f * square - 0.0267581549f) * square + 0.112828381f) * square - 0.376126081f;
        return 1.0f - x * (y * square + 1.12837911f);
    }
    if (!(size < 10.1f)) {
        return x != x ? x : x < 0.0f ? 2.0f : 0.0f;
    }
    t = (size - 3.0f) / (size + 3.0f);
    y = y * t - 0.000777586189f;
    y = y * t + 0.00200181152f;
    y = y * t + 0.0025673788f;
    y = y * t - 0.0237975288f;
    y = y * t + 0.0682957694f;
    y = y * t - 0.119270973f;
    y = y * t + 0.12964642f;
    y = y * t - 0.047562398f;
    y = y * t - 0.135621145f;
    y = y * t + 1.25300801f;
    y /= 1.0f + 2.0f * size;
    y += y * (rest * (1.0f + rest * (0.5f + rest * (0.166666667f + rest * 0.0416666667f))));
    y *= mote_expf(-upper * upper);
    return x < 0.0f ? 2.0f - y : y;
}

#endif
