/* mote_log_softmax_s8.h: the logarithms of int8 softmax in fixed point, as LiteRT's reference (gemmlowp) computes them.
 *
 * Fractions are integers over 2^31 where nothing else is said. The output's scale is 1/16, its zero point 127. */
#ifndef MOTE_LOG_SOFTMAX_S8_H
#define MOTE_LOG_SOFTMAX_S8_H

#include "mote_softmax_s8.h"

typedef struct {
    mote_softmax_s8_t steps;       /* of the input, and their exponentials */
    int32_t back_mult, back_shift; /* from 1 / 2^26 to steps of the input: see mote_rescale */
} mote_log_softmax_s8_t;

static inline int32_t mote_log_mul(int64_t a, int64_t b) { return (int32_t)((a * b + ((int32_t)1 << 30)) >> 31); }

static inline int32_t mote_log_saturated(uint64_t x) { return x > INT32_MAX ? INT32_MAX : (int32_t)x; }

/* How far x, which is not zero, can be shifted left. */
static inline int32_t mote_log_room(int32_t x) {
    int32_t room = 0;
    for (uint32_t y = (uint32_t)x; y < (uint32_t)1 << 30 && room < 30; y <<= 1) {
        room++;
    }
    return room;
}

/* log of x / 2^19, from 1 up, over 2^26: a power of 2 leaves r, near the fourth root of 1/2, and a quotient of two
 * polynomials in how far it is from that does for its logarithm. */
static inline int32_t mote_log_sum(int32_t x) {
    const int32_t root = 1805811301, half = 1518500250; /* the fourth and the second one of 1/2 */
    const int32_t room = mote_log_room(x), other_room = mote_log_room(mote_log_mul(x, half));
    const int32_t near = mote_log_saturated((uint64_t)mote_log_mul((int64_t)x << room, half) << 1);
    const int32_t other = mote_log_saturated((uint64_t)x << other_room);
    const int32_t quarter = (int32_t)1 << 23, power = (11 - room) * ((int32_t)1 << 25) + quarter;
    const int32_t other_power = (12 - other_room) * ((int32_t)1 << 25) - quarter;
    int32_t r = mote_min(near, other);
    r = r < half - 1024 ? half - 1024 : r; /* it is not: for the sake of a proof */
    const int32_t q = 2 * (r - root), square = mote_log_mul(q, q);
    const int32_t p = (int32_t)(((int64_t)r + root + 1) >> 1);
    const int32_t above = mote_log_mul(q, r) + mote_log_mul(mote_log_mul(q, square), 117049297);
    const int64_t inner = (int64_t)1057819769 + q + mote_log_mul(square, 127690142);
    int64_t below = (int64_t)mote_log_mul(p, inner) + mote_log_mul(q, 638450708);
    below = below < 0 ? 0 : below > INT32_MAX ? INT32_MAX : below; /* it is inside */
    const int32_t inverse = mote_softmax_reciprocal((uint32_t)below + ((uint32_t)1 << 31));
    const int32_t whole = mote_log_mul(power > other_power ? power : other_power, 1488522236); /* log(2) */
    return 2 * (whole + mote_log_mul(mote_shift_right(above, 5), inverse));
}

static inline void mote_log_softmax_s8(const mote_log_softmax_s8_t *p, const int8_t *in, int8_t *out,
                                       int32_t vectors) {
    const int32_t depth = p->steps.depth;
    for (; vectors > 0; vectors--, in += depth, out += depth) {
        int32_t max = -128, log, least;
        uint32_t sum = 0; /* 19 bits after the point */
        for (int32_t i = 0; i < depth; i++) {
            max = in[i] > max ? in[i] : max;
        }
        for (int32_t i = 0; i < depth; i++) {
            sum += ((uint32_t)mote_softmax_exp(&p->steps, max - in[i]) + (1u << 11)) >> 12;
        }
        sum = sum < (uint32_t)1 << 19 ? (uint32_t)1 << 19 : sum > INT32_MAX ? INT32_MAX : sum; /* it is inside */
        log = mote_log_sum((int32_t)sum);
        least = -1 - p->steps.radius;
        if (log >= 0) {
            const int32_t other = mote_rescale(log + INT32_MIN, p->back_mult, p->back_shift);
            least = other > least ? other : least;
        }
        for (int32_t i = 0; i < depth; i++) {
            const int32_t below = in[i] - max;
            int64_t y = -128;
            if (below > least && below >= -p->steps.radius) {
                const int64_t x = mote_high_mul(below * ((int32_t)1 << p->steps.shift), p->steps.mult);
                y = x - log;
                y = ((y + (y >> 63) + ((int32_t)1 << 21)) >> 22) + 127; /* halves away from zero */
            }
            out[i] = (int8_t)(y < -128 ? -128 : y > 127 ? 127 : y);
        }
    }
}

#endif
