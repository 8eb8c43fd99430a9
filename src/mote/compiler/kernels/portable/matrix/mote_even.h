/* mote_even.h: sums times a number in single precision, halves to even, as ONNX Runtime does it.
 *
 * The compiler looks for a multiplier with which integers, rounded once, give the same bytes for all sums that can occur,
 * and compares at every sum at which a byte becomes more. Where there is none, because sums meet halves, of which every
 * other one is rounded down, the steps of single precision are followed in integers. */
#ifndef MOTE_EVEN_H
#define MOTE_EVEN_H

#include "mote_fully_connected_s8.h"

/* Significant bits of x. */
static inline int32_t mote_bit_length(uint32_t x) {
#if defined(__GNUC__) && __SIZEOF_INT__ == 4
    return x == 0 ? 0 : 32 - __builtin_clz(x);
#else
    int32_t bits = 0;
    for (; x != 0; x >>= 1) {
        bits++;
    }
    return bits;
#endif
}

/* x with 24 significant bits, halves to even, as a float holds it. */
static inline uint32_t mote_single(uint32_t x) {
    const int32_t bits = mote_bit_length(x) - 24;
    if (bits <= 0) {
        return x;
    }
    return ((x >> bits) + (((x & (((uint32_t)1 << bits) - 1)) + ((x >> bits) & 1)) > ((uint32_t)1 << (bits - 1)))) << bits;
}

/* sum * mult / 2^shift kept inside lo..hi, which holds 0 and lies in -255..255. The multiplier has 24 bits, and the shift
 * is in 1..62. A float rounds the product to 24 bits: what is as near to a half as that becomes one. */
MOTE_NOINLINE int32_t mote_rescale_even(int32_t sum, int32_t mult, int32_t shift, int32_t lo, int32_t hi) {
    const uint64_t product = (uint64_t)mote_single(sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum) * (uint32_t)mult;
    const uint64_t whole = product >> shift;
    if (whole > 255) {
        return sum < 0 ? lo : hi;
    }
    const int64_t beyond = (int64_t)(product & (((uint64_t)1 << shift) - 1)) - ((int64_t)1 << (shift - 1));
    const int32_t places = shift + (whole == 0 ? -(beyond < 0) : mote_bit_length((uint32_t)whole)) - 25;
    const int64_t near = places < 0 ? 0 : (int64_t)1 << places;
    const int32_t size = (int32_t)whole + (beyond > near || (beyond >= -near && (whole & 1) != 0));
    const int32_t y = sum < 0 ? -size : size;
    return y < lo ? lo : y > hi ? hi : y;
}

#define MOTE_EVEN_SHIFT 64

/* A channel's sum as int8. Shifts beyond MOTE_EVEN_SHIFT are those of mote_rescale_even, others of mote_rescale_once. */
static inline int8_t mote_requantize_even(int32_t sum, int32_t mult, int32_t shift, mote_output_t o) {
    const int32_t y = shift < MOTE_EVEN_SHIFT ? mote_rescale_once(sum, mult, shift)
                                              : mote_rescale_even(sum, mult, shift - MOTE_EVEN_SHIFT, -128 - o.zero,
                                                                  127 - o.zero);
    return mote_clamp(MOTE_PLUS(y, o.zero), o.lo, o.hi);
}

#define MOTE_FINISH_EVEN(f, c, sum) mote_requantize_even(sum, (f)->channel[c].mult, (f)->channel[c].shift, (f)->output)

#endif
