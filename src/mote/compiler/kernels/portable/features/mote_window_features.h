/* mote_window_features.h: square roots and logarithms of whole numbers, and one channel of a window of samples.
 *
 * A window is `taps` rows of `unit` moments, channels interleaved. None of its rows lies outside of the signal.
 */
#ifndef MOTE_WINDOW_FEATURES_H
#define MOTE_WINDOW_FEATURES_H

#include "mote_common.h"

/* floor(sqrt(x)). */
#define MOTE_INTEGER_ROOT(suffix, type, highest) \
    static inline uint32_t mote_integer_root_##suffix(type x) { \
        type root = 0, bit = (type)1 << highest; \
        while (bit > x) { \
            bit >>= 2; \
        } \
        for (; bit != 0; bit >>= 2) { \
            if (x >= root + bit) { \
                x -= root + bit; \
                root = (root >> 1) + bit; \
            } else { \
                root >>= 1; \
            } \
        } \
        return (uint32_t)root; \
    }

MOTE_INTEGER_ROOT(32, uint32_t, 30)
MOTE_INTEGER_ROOT(64, uint64_t, 62)

static inline uint32_t mote_integer_root(uint64_t x) {
    return x >> 32 == 0 ? mote_integer_root_32((uint32_t)x) : mote_integer_root_64(x);
}

/* log2(x) in 1/256, rounded down, with a mantissa of 32 bits; that of zero is zero. */
static inline int32_t mote_integer_log2(uint64_t x) {
    int32_t log2 = 31;
    uint32_t mantissa;
    for (; x >> 32 != 0; x >>= 1) {
        log2++;
    }
    mantissa = x == 0 ? 1 : (uint32_t)x;
    for (int32_t step = 16; step > 0; step >>= 1) {
        if (mantissa >> (32 - step) == 0) {
            mantissa <<= step;
            log2 -= step;
        }
    }
    for (int32_t bit = 0; bit < 8; bit++) {
        const uint64_t square = ((uint64_t)mantissa * mantissa) >> 31;
        const uint32_t carry = (uint32_t)(square >> 32);
        mantissa = (uint32_t)(square >> carry);
        log2 = 2 * log2 + (int32_t)carry;
    }
    return log2;
}

/* The samples of a channel times a scale, one after another. */
static inline void mote_window_channel(const mote_window_t *w, const int16_t *const *rows, int32_t unit, int32_t channels,
                                       int32_t channel, int32_t scale, int32_t *to) {
    for (int32_t k = 0; k < w->taps; k++) {
        const int16_t *x = rows[k] + channel;
        for (int32_t i = 0; i < unit; i++, x += channels) {
            *to++ = *x * scale;
        }
    }
}

#endif
