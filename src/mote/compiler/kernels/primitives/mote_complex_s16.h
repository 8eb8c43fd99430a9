/* mote_complex_s16.h: complex numbers of two int16, and their products. */
#ifndef MOTE_COMPLEX_S16_H
#define MOTE_COMPLEX_S16_H

#include "mote_common.h"
#include "mote_complex_s16_dsp.h"

#ifndef mote_complex
typedef struct {
    int32_t real, imag;
} mote_complex_t;

static inline mote_complex_t mote_complex(const int16_t *z) {
    const mote_complex_t number = {z[0], z[1]};
    return number;
}

/* A constant. */
static inline mote_complex_t mote_complex_constant(const int16_t *z) {
    const mote_complex_t number = {mote_flash_s16(z), mote_flash_s16(z + 1)};
    return number;
}

static inline mote_complex_t mote_complex_of(int16_t real, int16_t imag) {
    const mote_complex_t number = {real, imag};
    return number;
}

/* The real and the imaginary part of a * b. */
static inline int32_t mote_product_real(mote_complex_t a, mote_complex_t b) { return a.real * b.real - a.imag * b.imag; }

static inline int32_t mote_product_imag(mote_complex_t a, mote_complex_t b) { return a.real * b.imag + a.imag * b.real; }

/* The same, added to sums. */
static inline int32_t mote_real_add(mote_complex_t a, mote_complex_t b, int32_t sum) {
    return sum + a.real * b.real - a.imag * b.imag;
}

static inline int32_t mote_imag_add(mote_complex_t a, mote_complex_t b, int32_t sum) {
    return sum + a.real * b.imag + a.imag * b.real;
}

/* The product of the real parts, and that of the imaginary ones, added to sums. */
static inline int32_t mote_reals_add(mote_complex_t a, mote_complex_t b, int32_t sum) { return sum + a.real * b.real; }

static inline int32_t mote_imags_add(mote_complex_t a, mote_complex_t b, int32_t sum) { return sum + a.imag * b.imag; }

/* Stores a number whose parts have 16 bits. All that is returned, joined by |, says how many bits the largest has. */
static inline uint32_t mote_complex_store(int16_t *z, int32_t real, int32_t imag) {
    z[0] = (int16_t)real;
    z[1] = (int16_t)imag;
    return (uint32_t)((real ^ (real >> 31)) | (imag ^ (imag >> 31)));
}

static inline uint32_t mote_complex_magnitudes(uint32_t stored) { return stored; }
#endif

#endif
