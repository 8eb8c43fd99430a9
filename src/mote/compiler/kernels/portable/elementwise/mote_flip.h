/* mote_flip.h: uint8 as int8 with a zero point that is 128 less, or back: the highest bit of each byte is another one. */
#ifndef MOTE_FLIP_H
#define MOTE_FLIP_H

#include "mote_common.h"

typedef struct {
    int32_t unused;
} mote_flip_t;

/* `out` may be `in`. */
static inline void mote_flip(const mote_flip_t *p, const void *in, void *out, int32_t n) {
    const uint8_t *from = (const uint8_t *)in;
    uint8_t *to = (uint8_t *)out;
    (void)p;
    for (; n >= 4; n -= 4, from += 4, to += 4) {
        uint32_t word;
        memcpy(&word, from, 4);
        word ^= 0x80808080u;
        memcpy(to, &word, 4);
    }
    for (; n > 0; n--) {
        *to++ = (uint8_t)(*from++ ^ 0x80u);
    }
}

#endif
