/* mote_step_rounding.h: limits of what learns in integers, and the random numbers of stochastic rounding. */
#ifndef MOTE_STEP_ROUNDING_H
#define MOTE_STEP_ROUNDING_H

#include "mote_common.h"

/* A number in -most..most. */
static inline int32_t mote_step_within(int32_t x, int32_t most) { return x < -most ? -most : x > most ? most : x; }

/* x less a step. Both are small enough that the difference fits, which a proof does not see. */
static inline int32_t mote_step_down(int32_t x, int32_t step) { return (int32_t)((uint32_t)x - (uint32_t)step); }

/* What the random numbers of a step have in common. */
static inline uint32_t mote_step_seed(int32_t number, int32_t seed) {
    return (uint32_t)number * 0x85EBCA77u + (uint32_t)seed;
}

/* The random number of an element, a hash. */
static inline uint32_t mote_step_noise(uint32_t step, int32_t element) {
    uint32_t x = (uint32_t)element * 0x9E3779B1u + step;
    x = (x ^ x >> 16) * 0x85EBCA6Bu;
    x = (x ^ x >> 13) * 0xC2B2AE35u;
    return x ^ x >> 16;
}

#endif
