/* mote_code.h: weights that are kept as a prefix code (see the compiler's pack/coding.py).
 *
 * A code begins with k zeros, which name its class, and a one (but for the last class, which needs none); what follows
 * says which of the class's values it is, or how many zeros, where it is the class of runs. Values that are frequent
 * are in the first classes. All codes of a class are equally long: two shifts and two loads find a value.
 */
#ifndef MOTE_CODE_H
#define MOTE_CODE_H

#include "mote_common.h"

typedef struct {
    const uint8_t *bits;    /* the codes, first bits first, and three bytes more */
    const int8_t *values;   /* of all classes */
    const int16_t *classes; /* 32 less the length of the codes, and 32 times what is added to one for its place */
    uint32_t stop;          /* the bit that ends the zeros of the last class */
    int32_t run;            /* the class of runs of zeros, or -1 */
} mote_code_t;

#ifndef mote_leading_zeros
static inline int32_t mote_leading_zeros(uint32_t word) {
    int32_t n = 0;
    for (; word >> 31 == 0; word <<= 1) {
        n++;
    }
    return n;
}
#endif

/* The 32 bits from bit `at` on, of which the first 25 count. */
static inline uint32_t mote_bits(const uint8_t *bits, uint32_t at) {
    const uint8_t *const p = bits + (at >> 3);
    return ((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]) << (at & 7);
}

/* The class of the code at bit `at`, which moves on behind it. `place` is where its value lies, or how many zeros it
 * stands for, if that is the class of runs. */
MOTE_ALWAYS_INLINE int32_t mote_decode(const mote_code_t *c, uint32_t *at, int32_t *place) {
    const uint32_t word = mote_bits(c->bits, *at);
    const int32_t k = mote_leading_zeros(word | c->stop), found = c->classes[k], shift = found & 31;
    *place = (int32_t)(word >> shift) + (found >> 5);
    *at += 32 - (uint32_t)shift;
    return k;
}

#endif
