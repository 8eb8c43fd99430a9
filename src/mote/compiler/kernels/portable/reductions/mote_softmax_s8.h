/* mote_softmax_s8.h: int8 softmax in fixed point, as LiteRT's reference (gemmlowp) computes it.
 *
 * Fractions are integers over 2^31 where nothing else is said. The output's scale is 1/256, its zero point
 * -128. The exponentials are computed: that is less flash than a table of them. */
#ifndef MOTE_SOFTMAX_S8_H
#define MOTE_SOFTMAX_S8_H

#include "mote_common.h"

typedef struct {
    int32_t depth;       /* classes */
    int32_t mult, shift; /* from steps of the input to 1 / 2^26: shifted left, then multiplied */
    int32_t radius;      /* more steps below the largest input count as nothing */
} mote_softmax_s8_t;

/* exp of minus `below` input steps: Taylor's series around -1/8 for what is left over whole quarters, times
 * exp(-2^k) for each bit k of those, from -2 up. */
static inline int32_t mote_softmax_exp(const mote_softmax_s8_t *p, int32_t below) {
    static const int32_t factor[7] MOTE_FLASH = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    int32_t x, rest, a, size, a2, tail, y, quarters;
    if (below == 0 || below > p->radius) {
        return below == 0 ? INT32_MAX : 0;
    }
    x = mote_high_mul(-below * ((int32_t)1 << p->shift), p->mult);
    rest = (x & 0xffffff) - 0x1000000;
    a = rest * 32 + ((int32_t)1 << 28);
    size = a < 0 ? -a : a;
    a2 = mote_high_mul(size, size);
    tail = ((mote_high_mul(a2, a2) + 2) >> 2) + mote_high_mul(a, a2);
    tail = (mote_high_mul(tail, 715827883) + a2 + 1) >> 1; /* a^2 / 2 + a^3 / 6 + a^4 / 24 */
    y = 1895147668 + mote_high_mul(a + tail, 1895147668);  /* exp(-1/8) */
    quarters = (rest - x) >> 24;
    for (const int32_t *f = factor; quarters > 0; quarters >>= 1, f++) { /* at most 127 */
        if (quarters & 1) {
            y = mote_high_mul(y, mote_flash_s32(f));
        }
    }
    return y;
}

/* 2^62 / x for x in [2^31, 2^32), at most 2^31 - 1: three steps of Newton's method, 29 bits after the point. No step
 * overflows, which a proof sees that looks at pieces of the range one by one. */
static inline int32_t mote_softmax_reciprocal(uint32_t x) {
    const int32_t half = (int32_t)(x >> 1);
    /*@ assert pieces: half < 0x48000000 || 0x48000000 <= half < 0x50000000 || 0x50000000 <= half < 0x58000000 ||
          0x58000000 <= half < 0x60000000 || 0x60000000 <= half < 0x68000000 || 0x68000000 <= half < 0x70000000 ||
          0x70000000 <= half < 0x78000000 || 0x78000000 <= half; */
    int32_t y = 1515870810 + mote_high_mul(-1010580540, half); /* 48/17 - 32/17 * half */
    for (int32_t i = 0; i < 3; i++) {
        y += mote_high_mul(((int32_t)1 << 29) - mote_high_mul(y, half), y) * 4;
    }
    return y < ((int32_t)1 << 30) ? y * 2 : INT32_MAX;
}

static inline void mote_softmax_s8(const mote_softmax_s8_t *p, const int8_t *in, int8_t *out, int32_t vectors) {
    for (; vectors > 0; vectors--, in += p->depth, out += p->depth) {
        int32_t max = -128, shift = 34, scale = 0;
        uint32_t sum = 0; /* 19 bits after the point */
        for (int32_t i = 0; i < p->depth; i++) {
            max = in[i] > max ? in[i] : max;
        }
        for (int32_t pass = 0; pass < 2; pass++) { /* one loop for both, so that exp is there only once */
            for (int32_t i = 0; i < p->depth; i++) {
                const int32_t e = mote_softmax_exp(p, max - in[i]);
                if (pass == 0) {
                    sum += ((uint32_t)e + (1u << 11)) >> 12;
                } else {
                    out[i] = mote_clamp((((mote_high_mul(scale, e) >> shift) + 1) >> 1) - 128, -128, 127);
                }
            }
            if (pass == 0) {
                sum = sum < (uint32_t)1 << 19 ? (uint32_t)1 << 19 : sum; /* it is not: the largest input alone adds 2^19 */
                for (; sum < (uint32_t)1 << 31; sum <<= 1) {
                    shift--;
                }
                shift = mote_min(shift, 31);
                scale = mote_softmax_reciprocal(sum);
            }
        }
    }
}

#endif
