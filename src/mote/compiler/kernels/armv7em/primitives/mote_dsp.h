/* mote_dsp.h: whether the core has the DSP instructions of Armv7E-M, and the few that kernels call one by one. */
#ifndef MOTE_DSP_H
#define MOTE_DSP_H

#include "mote_compiler.h"

/* Their code loads words from any address; a compiler that must not (-mno-unaligned-access, for a core that traps such
 * loads) gets the portable code, unless generated code says that its words are aligned. */
#if defined(__ARM_FEATURE_DSP) && (defined(__ARM_FEATURE_UNALIGNED) || MOTE_WORDS_ALIGNED) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#define MOTE_DSP 1
#else
#define MOTE_DSP 0
#endif

#if MOTE_DSP
/* Four and two bytes as a word, from any address. (The builtin, because a freestanding compiler calls memcpy.) */
#if MOTE_WORDS_ALIGNED
static inline uint32_t mote_load2(const int8_t *p) { return (uint32_t)(uint8_t)p[0] | (uint32_t)(uint8_t)p[1] << 8; }

static inline uint32_t mote_load4(const int8_t *p) { return mote_load2(p) | mote_load2(p + 2) << 16; }
#else
static inline uint32_t mote_load4(const int8_t *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, 4);
    return word;
}

static inline uint32_t mote_load2(const int8_t *p) {
    uint16_t half;
    __builtin_memcpy(&half, p, 2);
    return half;
}
#endif

/* Bytes 0 and 2, or 1 and 3, of a word as half words. */
static inline uint32_t mote_sxtb16(uint32_t x) {
    uint32_t r;
    __asm__("sxtb16 %0, %1" : "=r"(r) : "r"(x));
    return r;
}

static inline uint32_t mote_sxtb16_ror8(uint32_t x) {
    uint32_t r;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(x));
    return r;
}

/* sum + the products of both half words. */
static inline int32_t mote_smlad(uint32_t a, uint32_t b, int32_t sum) {
    int32_t r;
    __asm__("smlad %0, %1, %2, %3" : "=r"(r) : "r"(a), "r"(b), "r"(sum));
    return r;
}
#endif

#endif
