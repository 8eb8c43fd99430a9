/* mote_nibbles_s8.h: int8 convolutions whose weights have 4 bits and lie two in a byte: those of some output channels are
 * expanded into working memory, and an ordinary kernel computes these channels of all pixels, then the next ones. */
#ifndef MOTE_NIBBLES_S8_H
#define MOTE_NIBBLES_S8_H

#include "mote_coded_s8.h"

typedef struct {
    const uint32_t *words;      /* eight weights each: four in the low halves of the bytes, four in the high ones */
    const uint8_t *rest;        /* what has more bits: the first and the last bytes of each pair of channels */
    int32_t first, coded, last; /* bytes of a pair of channels, as the kernel reads them */
    int32_t channels;           /* that are expanded at once, an even number */
    int32_t step;               /* from the outputs of these to those of the next ones */
    int32_t count;              /* the pixels or rows that the kernel is asked for */
} mote_nibbles_t;

/* The low halves of four bytes as numbers from -8 to 7: bytes with 0x80 added, which nothing is carried out of. */
static inline uint32_t mote_nibbles_four(uint32_t word) { return ((word & 0x0f0f0f0fu) ^ 0x08080808u) + 0x78787878u; }

/* Four weights, one in a byte, as they lie in memory. */
static inline void mote_nibbles_weights(uint32_t four, int8_t *to) {
    for (int32_t i = 0; i < 4; i++, four >>= 8) {
        to[i] = (int8_t)(uint8_t)((four & 0xff) ^ 0x80);
    }
}

/* Two of each of two channels as words of mote_gemm3_s8.h, w0 + 256 w1 in 16 bits: where w0 is negative, one less. */
static inline void mote_nibbles_stream(uint32_t four, int8_t *to) {
    *(uint32_t *)(void *)to = (four - ((~four & 0x00800080u) << 1)) ^ 0x80808080u;
}

/* The next bytes that have more bits; where the bytes behind them go. */
#define mote_nibbles_take_weights mote_take

static inline int8_t *mote_nibbles_take_stream(mote_expanding_t *e, int8_t *to, int32_t bytes) {
    int8_t *const end = mote_take(e, to, bytes);
    mote_coded_words(to, bytes);
    return end;
}

/* The next channels, two at a time. */
#define MOTE_NIBBLES_EXPAND(field) \
    MOTE_NOINLINE MOTE_HOT void mote_nibbles_expand_##field(const mote_nibbles_t *p, mote_expanding_t *e, \
                                                            int32_t channels, int8_t *to) { \
        const uint32_t *word = p->words + e->at; \
        for (; channels > 0; channels -= 2) { \
            to = mote_nibbles_take_##field(e, to, p->first); \
            for (int32_t i = 0; i < p->coded; i += 8, to += 8) { \
                mote_nibbles_##field(mote_nibbles_four(*word), to); \
                if (i + 4 < p->coded) { \
                    mote_nibbles_##field(mote_nibbles_four(*word >> 4), to + 4); \
                } else { \
                    to -= 4; \
                } \
                word++; \
            } \
            to = mote_nibbles_take_##field(e, to, p->last); \
        } \
        e->at = (uint32_t)(word - p->words); \
    }

MOTE_NIBBLES_EXPAND(weights)
MOTE_NIBBLES_EXPAND(stream)

/* See mote_coded_s8.h. */
#define MOTE_NIBBLES(name, field, ...) \
    MOTE_EXPANDED(nibbles, mote_nibbles_t, mote_nibbles_expand_##field, name, field, __VA_ARGS__)

#endif
