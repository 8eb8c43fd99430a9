/* mote_lanes_s8.h: two pixels in one word, for cores that multiply 32 bits and have no SIMD instructions.
 *
 * A word holds x0 + x1 * 2^16. Times a weight, and added up, it is s0 + s1 * 2^16 modulo 2^32: two products for one
 * multiplication. As long as both sums fit 16 bits, (word + 2^15) >> 16 is s1. So products are added up in groups that
 * the compiler proved to fit, and of each group only the high sum is taken out: with T the sum of all groups and H that
 * of their high sums, S1 = H and S0 = T - (H << 16), whatever T lost on top. Each group adds 2^15 to T. */
#ifndef MOTE_LANES_S8_H
#define MOTE_LANES_S8_H

#include "mote_common.h"

#define MOTE_LANES_HALF 0x8000u
#define MOTE_LANES_UPPER(a) ((uint32_t)((int32_t)(a) >> 16))

/* Windows of one channel in two rows of outputs. Those of a window lie in columns, and have weights for groups of three
 * words in each. */
typedef struct {
    const uint32_t *x, *w;     /* the first window's words; weights, words too */
    int8_t *upper, *lower;     /* outputs */
    int32_t left, pixel;       /* windows, one at least, and from one output to the next */
    int32_t step, jump;        /* bytes from a window to the next, and from behind a column's groups to the next one */
    uint32_t start;            /* where T begins */
    int32_t bias;              /* where H begins */
    const int32_t *q;          /* the channel's constants behind its bias */
    const int16_t *spill;      /* how many weights are missing there, then pairs of a place, in bytes, and a weight */
    int32_t columns, groups;   /* of a window, and of each of its columns */
    int32_t lo, hi;            /* of outputs, where they are bounded */
} mote_lanes_windows_t;

#include "mote_lanes_armv6m.h"
#include "mote_lanes_armv7m.h"
#include "mote_lanes_rv32m.h"

static inline const uint32_t *mote_lanes_at(const uint32_t *x, int32_t bytes) {
    return (const uint32_t *)(const void *)((const uint8_t *)x + bytes);
}

/* The high half of a product of 64 bits. */
static inline int32_t mote_high_word(int32_t x, int32_t y) { return (int32_t)(((int64_t)x * y) >> 32); }

/* How a channel's sum becomes a byte: mult is normalized, or zero where the channel is constant. */
typedef struct {
    int32_t bias, mult, add, shift;
} mote_lanes_channel_t;

/* A sum below 2^29, scaled; `add` has the rounding and the zero point in it. See pack/requantize/high.py. */
MOTE_ALWAYS_INLINE int32_t mote_lanes_scaled(int32_t sum, int32_t mult, int32_t add, int32_t shift) {
    const int32_t high = mote_high_word((int32_t)((uint32_t)sum << 2), mult);
    return (int32_t)((uint32_t)high + (uint32_t)add) >> shift;
}

/* The same where negative results can be seen, whose halves are rounded away from zero. */
MOTE_ALWAYS_INLINE int32_t mote_lanes_scaled_halves(int32_t sum, int32_t mult, int32_t add, int32_t shift) {
    const int32_t high = (mote_high_word((int32_t)((uint32_t)sum << 2), mult) + 1) >> 1;
    return (int32_t)((uint32_t)high + (uint32_t)(high >> 31) + (uint32_t)add) >> shift;
}

MOTE_ALWAYS_INLINE int8_t mote_lanes_byte_plain(int32_t sum, mote_lanes_channel_t q, int32_t lo, int32_t hi) {
    return mote_clamp(mote_lanes_scaled(sum, q.mult, q.add, q.shift), lo, hi);
}

MOTE_ALWAYS_INLINE int8_t mote_lanes_byte_halves(int32_t sum, mote_lanes_channel_t q, int32_t lo, int32_t hi) {
    return mote_clamp(mote_lanes_scaled_halves(sum, q.mult, q.add, q.shift), lo, hi);
}

/* A sum on a core without long products, see pack/requantize/scalar.py: outputs are all of int8. */
MOTE_ALWAYS_INLINE int8_t mote_lanes_upper_byte(int32_t sum, int32_t most, int32_t coarse, int32_t fine, int32_t add,
                                                int32_t drop, int32_t turn, int32_t fix) {
    const uint32_t u = sum < 0 ? 0u : (uint32_t)(sum > most ? most : sum);
    const uint32_t more = (uint32_t)add + (u < (uint32_t)turn ? 0u : (uint32_t)fix);
    return (int8_t)(uint8_t)((u * (uint32_t)coarse + (u * (uint32_t)fine >> drop) + more) >> 24);
}

/* Forms of constants, how many there are, with the bias, and bytes made with them; `full`: all of int8. */
#define MOTE_LANES_CONSTANTS_plain 4
#define MOTE_LANES_CONSTANTS_halves 4
#define MOTE_LANES_CONSTANTS_plain_full 4
#define MOTE_LANES_CONSTANTS_halves_full 4
#define MOTE_LANES_CONSTANTS_short 6
#define MOTE_LANES_CONSTANTS_short_halves 8
#define MOTE_LANES_LOCALS_plain const int32_t mult = t->q[0], add = t->q[1], shift = t->q[2], lo = t->lo, hi = t->hi
#define MOTE_LANES_LOCALS_halves MOTE_LANES_LOCALS_plain
#define MOTE_LANES_LOCALS_plain_full const int32_t mult = t->q[0], add = t->q[1], shift = t->q[2]
#define MOTE_LANES_LOCALS_halves_full MOTE_LANES_LOCALS_plain_full
#define MOTE_LANES_LOCALS_short \
    const int32_t most = t->q[0], coarse = t->q[1], fine = t->q[2], add = t->q[3], drop = t->q[4]
#define MOTE_LANES_LOCALS_short_halves \
    MOTE_LANES_LOCALS_short; \
    const int32_t turn = t->q[5], fix = t->q[6]
#define MOTE_LANES_BYTE_plain(sum) mote_clamp(mote_lanes_scaled(sum, mult, add, shift), lo, hi)
#define MOTE_LANES_BYTE_halves(sum) mote_clamp(mote_lanes_scaled_halves(sum, mult, add, shift), lo, hi)
#define MOTE_LANES_BYTE_plain_full(sum) mote_clamp(mote_lanes_scaled(sum, mult, add, shift), -128, 127)
#define MOTE_LANES_BYTE_halves_full(sum) mote_clamp(mote_lanes_scaled_halves(sum, mult, add, shift), -128, 127)
#define MOTE_LANES_BYTE_short(sum) mote_lanes_upper_byte(sum, most, coarse, fine, add, drop, 0, 0)
#define MOTE_LANES_BYTE_short_halves(sum) mote_lanes_upper_byte(sum, most, coarse, fine, add, drop, turn, fix)

/* What spilled weights add to T and H. */
MOTE_ALWAYS_INLINE void mote_lanes_spilled(const uint32_t *x, const int16_t *spill, uint32_t *low, uint32_t *high) {
    for (int32_t count = *spill++; count > 0; count--, spill += 2) {
        const int32_t w = spill[1];
        const uint32_t a = *mote_lanes_at(x, spill[0]) * (uint32_t)w;
        *low += a;
        *high += MOTE_LANES_UPPER(a + MOTE_LANES_HALF);
    }
}

/* All windows, whose sums `dot` adds to `low` and `high`. */
#define MOTE_LANES_WINDOWS(form, dot) \
    MOTE_LANES_LOCALS_##form; \
    const int16_t *const spill = t->spill; \
    const int32_t step = t->step, jump = t->jump, pixel = t->pixel, bias = t->bias, spilled = *spill; \
    const uint32_t *x = t->x, start = t->start; \
    int8_t *upper = t->upper, *lower = t->lower; \
    for (int32_t left = t->left; left > 0; left--, x = mote_lanes_at(x, step), upper += pixel, lower += pixel) { \
        uint32_t low = start, high = (uint32_t)bias; \
        const uint32_t *u = x; \
        dot; \
        if (spilled > 0) { \
            mote_lanes_spilled(x, spill, &low, &high); \
        } \
        *upper = MOTE_LANES_BYTE_##form((int32_t)(low - (high << 16))); \
        *lower = MOTE_LANES_BYTE_##form((int32_t)high); \
    }

/* A group of three words. */
#define MOTE_LANES_THREE(w0, w1, w2) \
    do { \
        const uint32_t a_ = u[0] * (w0) + u[1] * (w1) + u[2] * (w2) + MOTE_LANES_HALF; \
        low += a_; \
        high += MOTE_LANES_UPPER(a_); \
        u += 3; \
    } while (0)
#define MOTE_LANES_JUMP u = mote_lanes_at(u, jump)
#define MOTE_LANES_OF_NINE \
    MOTE_LANES_THREE(v0, v1, v2); \
    MOTE_LANES_JUMP; \
    MOTE_LANES_THREE(v3, v4, v5); \
    MOTE_LANES_JUMP; \
    MOTE_LANES_THREE(v6, v7, v8)
#define MOTE_LANES_OF_ANY \
    const uint32_t *w = weights; \
    for (int32_t column = columns; column > 0; column--) { \
        int32_t group = groups; \
        for (; group > 1; group -= 2, w += 6) { \
            MOTE_LANES_THREE(w[0], w[1], w[2]); \
            MOTE_LANES_THREE(w[3], w[4], w[5]); \
        } \
        if (group > 0) { \
            MOTE_LANES_THREE(w[0], w[1], w[2]); \
            w += 3; \
        } \
        MOTE_LANES_JUMP; \
    }

/* mote_lanes_nine_FORM: windows of three columns of a group. mote_lanes_any_FORM: others. */
#define MOTE_LANES_NINE(form) \
    MOTE_NOINLINE MOTE_HOT void mote_lanes_nine_##form(mote_lanes_windows_t *t) { \
        const uint32_t *const w = t->w; \
        const uint32_t v0 = w[0], v1 = w[1], v2 = w[2], v3 = w[3], v4 = w[4], v5 = w[5]; \
        const uint32_t v6 = w[6], v7 = w[7], v8 = w[8]; \
        MOTE_LANES_WINDOWS(form, MOTE_LANES_OF_NINE) \
    }
#define MOTE_LANES_ANY(form) \
    MOTE_NOINLINE MOTE_HOT void mote_lanes_any_##form(mote_lanes_windows_t *t) { \
        const uint32_t *const weights = t->w; \
        const int32_t columns = t->columns, groups = t->groups; \
        MOTE_LANES_WINDOWS(form, MOTE_LANES_OF_ANY) \
    }

/* mote_lanes_twos_FORM, mote_lanes_threes_FORM: columns of two groups, and of three. */
#define MOTE_LANES_COLUMNS(form) \
    MOTE_UNUSED static inline void mote_lanes_twos_##form(mote_lanes_windows_t *t) { mote_lanes_any_##form(t); } \
    MOTE_UNUSED static inline void mote_lanes_threes_##form(mote_lanes_windows_t *t) { mote_lanes_any_##form(t); }

#ifndef mote_lanes_nine_plain
MOTE_LANES_NINE(plain)
#endif
#ifndef mote_lanes_nine_halves
MOTE_LANES_NINE(halves)
#endif
#ifndef mote_lanes_nine_plain_full
MOTE_LANES_NINE(plain_full)
#endif
#ifndef mote_lanes_nine_halves_full
MOTE_LANES_NINE(halves_full)
#endif
#ifndef mote_lanes_nine_short
MOTE_LANES_NINE(short)
#endif
#ifndef mote_lanes_nine_short_halves
MOTE_LANES_NINE(short_halves)
#endif
MOTE_LANES_ANY(plain)
MOTE_LANES_ANY(halves)
MOTE_LANES_ANY(plain_full)
MOTE_LANES_ANY(halves_full)
#ifndef mote_lanes_any_short
MOTE_LANES_ANY(short)
#endif
#ifndef mote_lanes_any_short_halves
MOTE_LANES_ANY(short_halves)
#endif
#ifndef mote_lanes_twos_plain
MOTE_LANES_COLUMNS(plain)
#endif
#ifndef mote_lanes_twos_halves
MOTE_LANES_COLUMNS(halves)
#endif
#ifndef mote_lanes_twos_plain_full
MOTE_LANES_COLUMNS(plain_full)
#endif
#ifndef mote_lanes_twos_halves_full
MOTE_LANES_COLUMNS(halves_full)
#endif
MOTE_LANES_COLUMNS(short)
MOTE_LANES_COLUMNS(short_halves)

/* n elements of two pixels, as words two apart. */
static inline void mote_lanes_join(const int8_t *a, const int8_t *b, int32_t n, uint32_t *to) {
    for (; n >= 4; n -= 4, a += 4, b += 4, to += 8) {
        to[0] = (uint32_t)a[0] + ((uint32_t)b[0] << 16);
        to[2] = (uint32_t)a[1] + ((uint32_t)b[1] << 16);
        to[4] = (uint32_t)a[2] + ((uint32_t)b[2] << 16);
        to[6] = (uint32_t)a[3] + ((uint32_t)b[3] << 16);
    }
    for (; n > 0; n--, to += 2) {
        *to = (uint32_t)*a++ + ((uint32_t)*b++ << 16);
    }
}

#endif
