/* mote_sigmoid_s16.h: LOGISTIC and TANH of int16 tensors, both between the values of one table: bit for bit as LiteRT. */
#ifndef MOTE_SIGMOID_S16_H
#define MOTE_SIGMOID_S16_H

#include "mote_runs_s16.h"

typedef struct {
    const int16_t *table; /* what 1 / (1 + exp(-i / 24)) is above one half for i = 0..255, in Q0.16 */
    int32_t mult, shift;  /* (x * mult + round) >> shift has 12 * 2^10 steps for 1 */
    int32_t round;
} mote_sigmoid_s16_t;
typedef mote_sigmoid_s16_t mote_sigmoid_tanh_s16_t;

/* How far the curve is above one half at `size`, between two values of the table, which are 2^bits steps apart. Behind the
 * last but one of them it is `most`. */
MOTE_ALWAYS_INLINE int32_t mote_sigmoid_above(const int16_t *table, int32_t size, int32_t bits, int32_t most) {
    const uint32_t cell = (uint32_t)size >> bits; /* of INT32_MIN as well, which is its own absolute value */
    if (cell >= 255) {
        return most;
    }
    const int32_t begin = table[cell];
    return begin * ((int32_t)1 << bits) + (size & (((int32_t)1 << bits) - 1)) * (table[cell + 1] - begin);
}

static inline void mote_sigmoid_s16(const mote_sigmoid_s16_t *p, const int16_t *in, int16_t *out, int32_t n) {
    const int32_t mult = p->mult, shift = p->shift, round = p->round;
    if (mote_sigmoid_run_s16(p->table, mult, shift, round, in, out, n)) {
        return;
    }
    for (; n > 0; n--) {
        const int32_t x = (*in++ * mult + round) >> shift;
        const int32_t above = mote_sigmoid_above(p->table, x < 0 ? -x : x, 9, (int32_t)32766 * 512);
        *out++ = (int16_t)(16384 + ((x < 0 ? 511 - above : above + 512) >> 10));
    }
}

/* It has twice the slope, and lies around zero. */
static inline void mote_sigmoid_tanh_s16(const mote_sigmoid_tanh_s16_t *p, const int16_t *in, int16_t *out, int32_t n) {
    const int32_t mult = p->mult, shift = p->shift, round = p->round;
    if (mote_sigmoid_tanh_run_s16(p->table, mult, shift, round, in, out, n)) {
        return;
    }
    for (; n > 0; n--) {
        const int32_t x = (*in++ * mult + round) >> shift;
        const int32_t above = mote_sigmoid_above(p->table, x < 0 ? -x : x, 8, (int32_t)32767 * 256);
        *out++ = (int16_t)((x < 0 ? 127 - above : above + 128) >> 8);
    }
}

#endif
