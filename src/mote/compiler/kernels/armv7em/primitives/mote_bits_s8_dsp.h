/* mote_bits_s8_dsp.h: mote_bits_s8.h, which includes it, with DSP instructions. */
#ifndef MOTE_BITS_S8_DSP_H
#define MOTE_BITS_S8_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !defined(mote_bits_keep)
/* Bytes of `bits` where the element of x is in least..most, added to `sum`. */
static inline uint32_t mote_bits_word(uint32_t x, uint32_t least, uint32_t most, uint32_t bits, uint32_t sum) {
    uint32_t found, below;
    __asm__("ssub8 %0, %2, %3\n\t"
            "sel %0, %5, %6\n\t"
            "ssub8 %1, %4, %2\n\t"
            "sel %0, %0, %6\n\t"
            "usada8 %0, %0, %6, %7"
            : "=&r"(found), "=&r"(below)
            : "r"(x), "r"(least), "r"(most), "r"(bits), "r"(0), "r"(sum));
    return found;
}

static inline void mote_bits_between(const int8_t *in, uint8_t *out, int32_t count, int32_t low, int32_t high) {
    if (low >= 127 || high <= -128) {
        memset(out, 0, (size_t)count);
        return;
    }
    const uint32_t least = (uint32_t)(low < -128 ? 0x80 : (low + 1) & 0xff) * 0x01010101u;
    const uint32_t most = (uint32_t)(high > 128 ? 0x7f : (high - 1) & 0xff) * 0x01010101u;
    for (; count > 0; count--, in += 8) {
        const uint32_t first = mote_bits_word(mote_load4(in), least, most, 0x08040201u, 0);
        *out++ = (uint8_t)mote_bits_word(mote_load4(in + 4), least, most, 0x80402010u, first);
    }
}
#define mote_bits_between mote_bits_between

/* SEL takes bytes by flags, which bits 16..19 of a register become. */
static inline uint32_t mote_bits_kept(uint32_t x, uint32_t flags) {
    uint32_t kept;
    __asm__("msr APSR_g, %2\n\tsel %0, %1, %3" : "=r"(kept) : "r"(x), "r"(flags), "r"(0));
    return kept;
}

static inline void mote_bits_keep(const int8_t *in, const uint8_t *mask, int8_t *out, int32_t count) {
    for (; count > 0; count--, in += 8, out += 8) {
        const uint32_t bits = *mask++;
        const uint32_t first = mote_bits_kept(mote_load4(in), bits << 16);
        const uint32_t second = mote_bits_kept(mote_load4(in + 4), bits << 12);
        memcpy(out, &first, 4);
        memcpy(out + 4, &second, 4);
    }
}
#define mote_bits_keep mote_bits_keep
#endif

#endif
