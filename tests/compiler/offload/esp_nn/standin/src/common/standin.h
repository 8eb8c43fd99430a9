/* Fixed point as LiteRT's reference kernels have it. */
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>
#include <stdint.h>

#include "esp_nn.h"

static inline int32_t clamped(int64_t x, int64_t low, int64_t high) {
    return (int32_t)(x < low ? low : x > high ? high : x);
}

/* The high half of the doubled product, halves up. */
static inline int32_t high_product(int64_t a, int64_t b) {
    return clamped((a * b + ((int64_t)1 << 30)) >> 31, INT32_MIN, INT32_MAX);
}

/* Halves away from zero. */
static inline int32_t rounded_shift(int64_t x, int32_t bits) {
    const int64_t half = ((int64_t)1 << bits) >> 1;
    return (int32_t)(x >= 0 ? (x + half) >> bits : -((half - x) >> bits));
}

static inline int32_t rescaled(int32_t x, int32_t mult, int32_t shift) {
    const int64_t left = (int64_t)x * ((int64_t)1 << (shift > 0 ? shift : 0));
    return rounded_shift(high_product(left, mult), shift < 0 ? -shift : 0);
}

#endif
