/* mote_complex_s16_dsp.h: mote_complex_s16.h with DSP instructions: a number is a word, and one part of a product an
 * instruction. */
#ifndef MOTE_COMPLEX_S16_DSP_H
#define MOTE_COMPLEX_S16_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !MOTE_WORDS_ALIGNED
typedef uint32_t mote_complex_t;

static inline mote_complex_t mote_complex(const int16_t *z) {
    uint32_t word;
    __builtin_memcpy(&word, z, 4);
    return word;
}

static inline mote_complex_t mote_complex_constant(const int16_t *z) { return mote_complex(z); }

static inline mote_complex_t mote_complex_of(int16_t real, int16_t imag) {
    return (uint32_t)(uint16_t)real | (uint32_t)(uint16_t)imag << 16;
}

static inline int32_t mote_product_real(mote_complex_t a, mote_complex_t b) {
    int32_t r;
    __asm__("smusd %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

static inline int32_t mote_product_imag(mote_complex_t a, mote_complex_t b) {
    int32_t r;
    __asm__("smuadx %0, %1, %2" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

static inline int32_t mote_real_add(mote_complex_t a, mote_complex_t b, int32_t sum) {
    int32_t r;
    __asm__("smlsd %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(sum));
    return r;
}

static inline int32_t mote_imag_add(mote_complex_t a, mote_complex_t b, int32_t sum) {
    int32_t r;
    __asm__("smladx %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(sum));
    return r;
}

static inline int32_t mote_reals_add(mote_complex_t a, mote_complex_t b, int32_t sum) {
    int32_t r;
    __asm__("smlabb %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(sum));
    return r;
}

static inline int32_t mote_imags_add(mote_complex_t a, mote_complex_t b, int32_t sum) {
    int32_t r;
    __asm__("smlatt %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(sum));
    return r;
}

/* A bit is set where a number and its half differ: the highest one is a place above the number's own. */
static inline uint32_t mote_complex_store(int16_t *z, int32_t real, int32_t imag) {
    uint32_t word;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(word) : "r"(real), "r"(imag));
    __builtin_memcpy(z, &word, 4);
    return word ^ word << 1;
}

static inline uint32_t mote_complex_magnitudes(uint32_t stored) { return ((stored | stored >> 16) & 0xFFFF) >> 1; }
#define mote_complex mote_complex
#endif

#endif
