/* mote_planar_masks_s8.h: mote_activation_mask_s8 of planar rows (mote_planar_s8.h), for cores with DSP instructions.
 *
 * A word of a line has four pixels of a channel: the words of eight channels become four bytes of bits. Bytes are in
 * least..most where byte - least, as far as eight bits hold it, is at most most - least.
 */
#ifndef MOTE_PLANAR_MASKS_S8_H
#define MOTE_PLANAR_MASKS_S8_H

#include "mote_common.h"
#include "mote_dsp.h"

typedef struct {
    int32_t channels, width;
    int32_t line, before; /* bytes of a line, and those before its first pixel */
    int32_t low, high;    /* bits are 1 between them */
} mote_planar_mask_s8_t;

/* Bits of four pixels, each in bit 7 of a byte, above those of the channels before. */
static inline uint32_t mote_planar_bits(uint32_t x, uint32_t least, uint32_t span, uint32_t bits) {
#if MOTE_DSP
    uint32_t found;
    __asm__("usub8 %0, %1, %2\n\t"
            "usub8 %0, %3, %0\n\t"
            "sel %0, %4, %5"
            : "=&r"(found)
            : "r"(x), "r"(least), "r"(span), "r"(0x80808080u), "r"(0));
#else
    uint32_t found = 0;
    for (int32_t at = 0; at < 32; at += 8) {
        const uint32_t over = ((x >> at) - (least >> at)) & 0xff;
        found |= (uint32_t)(over <= (span >> at & 0xff)) << (at + 7);
    }
#endif
    return found | bits >> 1;
}

/* Four pixels of a channel, the first one in the lowest byte. */
static inline uint32_t mote_planar_word(const int8_t *from) {
#if MOTE_DSP
    return *(const uint32_t *)(const void *)from;
#else
    return (uint8_t)from[0] | (uint32_t)(uint8_t)from[1] << 8 | (uint32_t)(uint8_t)from[2] << 16 |
           (uint32_t)(uint8_t)from[3] << 24;
#endif
}

/* Up to eight channels of four pixels. */
static inline uint32_t mote_planar_bytes(const int8_t *from, int32_t line, int32_t channels, uint32_t least,
                                         uint32_t span) {
    uint32_t bits = 0;
#define MOTE_PLANAR_CHANNEL \
    bits = mote_planar_bits(mote_planar_word(from), least, span, bits); \
    from += line;
    if (channels == 8) {
        MOTE_PLANAR_CHANNEL MOTE_PLANAR_CHANNEL MOTE_PLANAR_CHANNEL MOTE_PLANAR_CHANNEL
        MOTE_PLANAR_CHANNEL MOTE_PLANAR_CHANNEL MOTE_PLANAR_CHANNEL MOTE_PLANAR_CHANNEL
        return bits;
    }
    for (int32_t c = channels; c > 0; c--) {
        MOTE_PLANAR_CHANNEL
    }
#undef MOTE_PLANAR_CHANNEL
    return bits >> (8 - channels);
}

/* Up to eight channels of a row: a byte for each pixel, `pitch` bytes apart. Pixels lie in the order 0, 2, 1, 3. */
static inline void mote_planar_mask_channels(const mote_planar_mask_s8_t *p, const int8_t *in, int32_t channels,
                                             uint32_t least, uint32_t span, int32_t pitch, uint8_t *out) {
    const int32_t width = p->width;
    int32_t x = -(p->before & 3);
    int32_t at = x * pitch;
    in += p->before + x;
    for (; x < width; x += 4, in += 4, at += 4 * pitch) {
        const uint32_t bits = mote_planar_bytes(in, p->line, channels, least, span);
        if (x >= 0) {
            out[at] = (uint8_t)bits;
        }
        if (x >= -1 && x + 1 < width) {
            out[at + pitch] = (uint8_t)(bits >> 16);
        }
        if (x >= -2 && x + 2 < width) {
            out[at + 2 * pitch] = (uint8_t)(bits >> 8);
        }
        if (x + 3 < width) {
            out[at + 3 * pitch] = (uint8_t)(bits >> 24);
        }
    }
}

MOTE_NOINLINE void mote_planar_mask_s8(const mote_planar_mask_s8_t *p, const int8_t *in, uint8_t *out, int32_t rows) {
    const int32_t least = p->low < -128 ? 0 : p->low + 129, most = p->high > 128 ? 255 : p->high + 127;
    const int32_t pitch = (p->channels + 7) / 8;
    if (least > most) {
        memset(out, 0, (size_t)(rows * p->width * pitch));
        return;
    }
    for (; rows > 0; rows--, out += p->width * pitch) {
        for (int32_t c = 0; c < p->channels; c += 8, in += 8 * p->line) {
            const int32_t some = mote_min(p->channels - c, 8);
            mote_planar_mask_channels(p, in, some, (uint32_t)least * 0x01010101u,
                                      (uint32_t)(most - least) * 0x01010101u, pitch, out + c / 8);
            in -= (8 - some) * p->line;
        }
    }
}

#endif
