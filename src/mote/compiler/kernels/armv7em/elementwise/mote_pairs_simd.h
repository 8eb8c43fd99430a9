/* mote_pairs_simd.h: larger and smaller elements of two tensors, int16 sums and products, for cores with DSP instructions:
 * what mote_pairs.h and mote_quantized.h compute, in words of four or two elements. */
#ifndef MOTE_PAIRS_SIMD_H
#define MOTE_PAIRS_SIMD_H

#include "mote_quantized.h"

#if MOTE_DSP && !MOTE_WORDS_ALIGNED
/* MOTE_PAIRS where `simd(p, ready, a, a_step, b, b_step, out, n)` computes as many of n elements as fill words, and gives
 * how many. `ready` is made once of the parameters, by `simd`_ready. */
#define MOTE_PAIRS_SIMD(name, params, one, other, to, of, simd) \
    typedef params mote_##name##_t; \
    typedef struct { \
        mote_pairs_t pairs; \
        params each; \
    } mote_##name##_rows_t; \
    MOTE_NOINLINE void mote_##name##_rest(const params *p, const one *a, int32_t a_step, const other *b, \
                                          int32_t b_step, to *out, int32_t n) { \
        for (; n > 0; n--, a += a_step, b += b_step) { \
            *out++ = (to)of(p, *a, *b); \
        } \
    } \
    static inline void mote_##name##_run(const params *p, simd##_t *ready, const one *a, int32_t a_step, \
                                         const other *b, int32_t b_step, to *out, int32_t n) { \
        const int32_t done = simd(p, ready, a, a_step, b, b_step, out, n); \
        if (done < n) { \
            mote_##name##_rest(p, a + done * a_step, a_step, b + done * b_step, b_step, out + done, n - done); \
        } \
    } \
    MOTE_UNUSED static inline void mote_##name(const params *p, const one *a, const other *b, to *out, int32_t n) { \
        simd##_t ready = simd##_ready(p); \
        mote_##name##_run(p, &ready, a, 1, b, 1, out, n); \
    } \
    MOTE_UNUSED static inline void mote_##name##_rows(const mote_##name##_rows_t *p, const one *a, const other *b, \
                                                      to *out, int32_t lo, int32_t hi) { \
        const mote_broadcast_t *walk = &p->pairs.walk; \
        simd##_t ready = simd##_ready(&p->each); \
        MOTE_FOR_RUNS(walk, at, out, lo, hi) { \
            mote_##name##_run(&p->each, &ready, a + at.a, p->pairs.a_step, b + at.b, walk->b_step, out, walk->run); \
        } \
    }

/* A loop over words of both operands, one of which may be the same for all elements, a word of copies then. */
#define MOTE_EXTREME_LOOP(load_a, load_b, work) \
    __asm__ volatile("1:\n\t" load_a load_b work "str r12, [%[out]], #4\n\t" \
                     "subs %[n], %[n], #1\n\t" \
                     "bne 1b\n\t" \
                     : [a] "+r"(a), [b] "+r"(b), [out] "+r"(out), [n] "+r"(words), [x] "+r"(x), [y] "+r"(y) \
                     : \
                     : "r12", "cc", "memory")

#define MOTE_EXTREME_A "ldr %[x], [%[a]], #4\n\t"
#define MOTE_EXTREME_B "ldr %[y], [%[b]], #4\n\t"

/* `subtract` sets a flag of each element where x is not below y. Two words at a time where both operands step. */
#define MOTE_EXTREME(name, type, copies, subtract, first, second) \
    typedef mote_nothing_t mote_##name##_t; \
    MOTE_UNUSED static inline mote_##name##_t mote_##name##_ready(const mote_nothing_t *p) { return *p; } \
    MOTE_UNUSED static inline int32_t mote_##name(const mote_nothing_t *p, mote_##name##_t *ready, const type *a, \
                                                  int32_t a_step, const type *b, int32_t b_step, type *out, int32_t n) { \
        const int32_t each = 4 / (int32_t)sizeof(type), done = n - n % each; \
        const int32_t odd = a_step != 0 && b_step != 0 && done / each % 2; \
        int32_t words = odd ? 1 : done / each; \
        uint32_t x, y; \
        (void)p, (void)ready; \
        if (words == 0) { \
            return 0; \
        } \
        x = ((uint32_t)*a & 0xffffffffu / copies) * copies; \
        y = ((uint32_t)*b & 0xffffffffu / copies) * copies; \
        if (a_step == 0) { \
            MOTE_EXTREME_LOOP("", MOTE_EXTREME_B, MOTE_EXTREME_OF(subtract, first, second)); \
        } else if (b_step == 0) { \
            MOTE_EXTREME_LOOP(MOTE_EXTREME_A, "", MOTE_EXTREME_OF(subtract, first, second)); \
        } else { \
            if (odd) { \
                MOTE_EXTREME_LOOP(MOTE_EXTREME_A, MOTE_EXTREME_B, MOTE_EXTREME_OF(subtract, first, second)); \
            } \
            words = done / each / 2; \
            if (words > 0) { \
                MOTE_EXTREME_LOOP(MOTE_EXTREME_A, MOTE_EXTREME_B, \
                                  MOTE_EXTREME_OF(subtract, first, second) "str r12, [%[out]], #4\n\t" MOTE_EXTREME_A \
                                      MOTE_EXTREME_B MOTE_EXTREME_OF(subtract, first, second)); \
            } \
        } \
        return done; \
    }
#define MOTE_EXTREME_OF(subtract, first, second) \
    subtract " r12, %[x], %[y]\n\tsel r12, %[" first "], %[" second "]\n\t"
#define MOTE_FOUR_COPIES 0x01010101u
#define MOTE_TWO_COPIES 0x00010001u

#define MOTE_EXTREMES(suffix, type, copies, subtract) \
    MOTE_EXTREME(maxima_##suffix, type, copies, subtract, "x", "y") \
    MOTE_EXTREME(minima_##suffix, type, copies, subtract, "y", "x")

MOTE_EXTREMES(s8, int8_t, MOTE_FOUR_COPIES, "ssub8")
MOTE_EXTREMES(u8, uint8_t, MOTE_FOUR_COPIES, "usub8")
MOTE_EXTREMES(s16, int16_t, MOTE_TWO_COPIES, "ssub16")

/* c + the high half of x * y, rounded. */
static inline int32_t mote_smmlar(int32_t x, int32_t y, int32_t c) {
    int32_t r;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(r) : "r"(x), "r"(y), "r"(c));
    return r;
}

/* x * mult / 2^(32 + right), for 1 <= right: rounded after the multiply and, halves away from zero, after the shift. Only
 * halves need to know the sign, and where x is below zero the product is not above. */
MOTE_ALWAYS_INLINE int32_t mote_simd_rescale(int32_t x, int32_t mult, int32_t half, int32_t right) {
    return mote_smmlar(x, mult, half + (x >> 31)) >> right;
}

typedef struct {
    int32_t mult, half, right;
} mote_simd_result_t;

static inline mote_simd_result_t mote_simd_result(const mote_result_t *p) {
    const mote_simd_result_t y = {p->mult, (int32_t)1 << p->shift, p->shift + 1};
    return y;
}

/* The limits of the activation, which most layers do not have. */
static inline void mote_simd_limit(const mote_result_t *p, int16_t *out, int32_t words) {
    const uint32_t lo = ((uint32_t)p->lo & 0xffff) * MOTE_TWO_COPIES, hi = ((uint32_t)p->hi & 0xffff) * MOTE_TWO_COPIES;
    if (p->lo == INT16_MIN && p->hi == INT16_MAX) {
        return;
    }
    for (; words > 0; words--, out += 2) {
        uint32_t word = mote_load4((const int8_t *)out);
        __asm__("ssub16 r12, %0, %1\n\tsel %0, %0, %1" : "+r"(word) : "r"(lo) : "r12");
        __asm__("ssub16 r12, %0, %1\n\tsel %0, %1, %0" : "+r"(word) : "r"(hi) : "r12");
        memcpy(out, &word, 4);
    }
}

/* Whether results are rescaled as below: shifted right, with zero points of zero, and limits that int16 has. */
static inline int32_t mote_simd_fits(const mote_result_t *p) {
    return p->shift >= 0 && p->shift < 30 && p->mult >= 0 && p->zero == 0 && p->lo >= INT16_MIN && p->hi <= INT16_MAX &&
           p->lo <= p->hi;
}

MOTE_ALWAYS_INLINE void mote_simd_store(int16_t *out, int32_t low, int32_t high) {
    uint32_t word;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(word) : "r"(mote_saturate_s16(low)), "r"(mote_saturate_s16(high)));
    memcpy(out, &word, 4);
}

/* What the loops below need, in registers from r4 on. */
typedef struct {
    int32_t mult, half; /* of numbers that are multiplied and shifted; or the factor of numbers that are not */
    uint32_t right;     /* the shift, and in its upper half the factor, 2^14 or its negative, of the other numbers */
    mote_simd_result_t y;
    int32_t words;
} mote_simd_sum_t;

/* Twice the sum in `x` as a result. */
#define MOTE_SUMS_RESULT(x) \
    "lsl " x ", " x ", #1\n\t" \
    "add lr, r8, " x ", asr #31\n\t" \
    "smmlar " x ", " x ", r7, lr\n\t" \
    "asr " x ", " x ", r9\n\t" \
    "ssat " x ", #16, " x "\n\t"

/* The number in the upper half of `x`, whose lower half is zero, multiplied and shifted. */
#define MOTE_SUMS_TERM(x) \
    "add lr, r5, " x ", asr #31\n\t" \
    "smmlar " x ", " x ", r4, lr\n\t" \
    "asr " x ", " x ", r6\n\t"

/* `low` and `high` make the sums of the two numbers of r3 and of r11 in r12 and r11. */
#define MOTE_SUMS_FUNCTION(name, low, high) \
    __attribute__((naked, noinline, unused)) static void mote_simd_##name( \
        const void *x __attribute__((unused)), const void *y __attribute__((unused)), void *out __attribute__((unused)), \
        const mote_simd_sum_t *sum __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "ldm r3, {r4-r10}\n" \
                         "1:\n\t" \
                         "ldr r3, [r0], #4\n\t" \
                         "ldr r11, [r1], #4\n\t" low MOTE_SUMS_RESULT("r12") high MOTE_SUMS_RESULT("r11") \
                         "pkhbt r12, r12, r11, lsl #16\n\t" \
                         "str r12, [r2], #4\n\t" \
                         "subs r10, r10, #1\n\t" \
                         "bne 1b\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }

MOTE_SUMS_FUNCTION(sums, "lsl r12, r11, #16\n\t" MOTE_SUMS_TERM("r12") "smlabt r12, r3, r6, r12\n\t",
                   "bfc r11, #0, #16\n\t" MOTE_SUMS_TERM("r11") "smlatt r11, r3, r6, r11\n\t")
MOTE_SUMS_FUNCTION(differences,
                   "lsl r12, r11, #16\n\t" MOTE_SUMS_TERM("r12") "rsb r12, r12, #0\n\tsmlabt r12, r3, r6, r12\n\t",
                   "bfc r11, #0, #16\n\t" MOTE_SUMS_TERM("r11") "rsb r11, r11, #0\n\tsmlatt r11, r3, r6, r11\n\t")
MOTE_SUMS_FUNCTION(halved_sums, "smulbt r12, r3, r6\n\tsmlabb r12, r11, r4, r12\n\t",
                   "smultt r3, r3, r6\n\tsmlatb r11, r11, r4, r3\n\t")

/* Whether a term is half of its number, as that with the larger scale is, or is multiplied and shifted right. */
static inline int32_t mote_simd_halves(const mote_term_t *t) {
    return t->zero == 0 && t->mult == (int32_t)1 << 30 && t->shift == -1;
}

static inline int32_t mote_simd_shifts(const mote_term_t *t) {
    return t->zero == 0 && t->mult >= 0 && t->shift >= 0 && t->shift < 30;
}

#define MOTE_SIMD_HALF 0x4000u
#define MOTE_SIMD_COPIES 32

typedef struct {
    void (*loop)(const void *x, const void *y, void *out, const mote_simd_sum_t *sum); /* NULL where none fits */
    int32_t turned; /* whether b is its first operand */
    mote_simd_sum_t sum;
} mote_sums_s16_t;

static inline mote_sums_s16_t mote_sums_s16_ready(const mote_sum_s16_t *p) {
    const int32_t halved = mote_simd_halves(&p->a) && mote_simd_halves(&p->b), turned = !mote_simd_halves(&p->a);
    const mote_term_t *const term = turned ? &p->a : &p->b;
    mote_sums_s16_t ready = {NULL, turned, {0, 0, 0, {0, 0, 0}, 0}};
    if (!mote_simd_fits(&p->y) || (turned && !mote_simd_halves(&p->b)) || !(halved || mote_simd_shifts(term))) {
        return ready;
    }
    ready.sum.y = mote_simd_result(&p->y);
    ready.sum.right = MOTE_SIMD_HALF << 16;
    if (halved) {
        ready.loop = mote_simd_halved_sums;
        ready.sum.mult = p->sign < 0 ? -(int32_t)MOTE_SIMD_HALF : (int32_t)MOTE_SIMD_HALF;
        return ready;
    }
    ready.loop = p->sign < 0 && !turned ? mote_simd_differences : mote_simd_sums;
    ready.sum.mult = term->mult, ready.sum.half = (int32_t)1 << term->shift;
    ready.sum.right = p->sign < 0 && turned ? 0u - ready.sum.right : ready.sum.right;
    ready.sum.right |= (uint32_t)(term->shift + 1);
    return ready;
}

MOTE_ALWAYS_INLINE void mote_sums_of_words(const mote_sum_s16_t *p, mote_sums_s16_t *ready, const int16_t *a,
                                           const int16_t *b, int16_t *out, int32_t words) {
    ready->sum.words = words;
    if (ready->turned) {
        ready->loop(b, a, out, &ready->sum);
    } else {
        ready->loop(a, b, out, &ready->sum);
    }
    mote_simd_limit(&p->y, out, words);
}

/* One operand is the same for all elements: loops get copies of it. */
MOTE_NOINLINE void mote_sums_of_copies(const mote_sum_s16_t *p, mote_sums_s16_t *ready, const int16_t *a, int32_t a_step,
                                       const int16_t *b, int32_t b_step, int16_t *out, int32_t words) {
    int16_t copies[MOTE_SIMD_COPIES];
    const int32_t most = MOTE_SIMD_COPIES / 2;
    for (int32_t i = 0; i < MOTE_SIMD_COPIES; i++) {
        copies[i] = a_step == 0 ? *a : *b;
    }
    for (; words > 0; words -= most, a += 2 * most * a_step, b += 2 * most * b_step, out += 2 * most) {
        mote_sums_of_words(p, ready, a_step == 0 ? copies : a, b_step == 0 ? copies : b, out, mote_min(words, most));
    }
}

MOTE_UNUSED static inline int32_t mote_sums_s16(const mote_sum_s16_t *p, mote_sums_s16_t *ready, const int16_t *a,
                                                int32_t a_step, const int16_t *b, int32_t b_step, int16_t *out,
                                                int32_t n) {
    const int32_t words = n / 2;
    if (ready->loop == NULL || words == 0) {
        return 0;
    }
    if (a_step != 0 && b_step != 0) {
        mote_sums_of_words(p, ready, a, b, out, words);
    } else {
        mote_sums_of_copies(p, ready, a, a_step, b, b_step, out, words);
    }
    return 2 * words;
}

/* Elements that lie side by side, or two copies of one that is the same for all. */
MOTE_ALWAYS_INLINE const int16_t *mote_simd_two(const int16_t *x, int32_t step, int16_t *copies) {
    copies[0] = copies[1] = *x;
    return step == 0 ? copies : x;
}

/* The multiplier is normalized, so that twice of it wraps: the product itself makes up for that. */
MOTE_ALWAYS_INLINE int32_t mote_simd_product(int32_t product, const mote_simd_result_t *y) {
    const int32_t high = mote_smmlar(product, (int32_t)((uint32_t)y->mult << 1), product);
    return (high + (product >> 31) + y->half) >> y->right;
}

typedef struct {
    int32_t fits;
    mote_simd_result_t y;
} mote_products_s16_t;

static inline mote_products_s16_t mote_products_s16_ready(const mote_result_t *p) {
    mote_products_s16_t ready = {mote_simd_fits(p) && p->mult >= (int32_t)1 << 30, {0, 0, 0}};
    if (ready.fits) {
        ready.y = mote_simd_result(p);
    }
    return ready;
}

MOTE_UNUSED static inline int32_t mote_products_s16(const mote_result_t *p, mote_products_s16_t *ready,
                                                    const int16_t *a, int32_t a_step, const int16_t *b, int32_t b_step,
                                                    int16_t *out, int32_t n) {
    const mote_simd_result_t y = ready->y;
    const int32_t words = n / 2;
    if (!ready->fits || words == 0) {
        return 0;
    }
    int16_t a_copies[2], b_copies[2];
    int16_t *to = out;
    a = mote_simd_two(a, a_step, a_copies), b = mote_simd_two(b, b_step, b_copies);
    for (const int16_t *const end = out + 2 * words; to != end; a += 2 * a_step, b += 2 * b_step, to += 2) {
        const uint32_t x = mote_load4((const int8_t *)a), z = mote_load4((const int8_t *)b);
        int32_t low, high;
        __asm__("smulbb %0, %1, %2" : "=r"(low) : "r"(x), "r"(z));
        __asm__("smultt %0, %1, %2" : "=r"(high) : "r"(x), "r"(z));
        mote_simd_store(to, mote_simd_product(low, &y), mote_simd_product(high, &y));
    }
    mote_simd_limit(p, out, words);
    return 2 * words;
}
#else
#define MOTE_PAIRS_SIMD(name, params, one, other, to, of, simd) MOTE_PAIRS(name, params, one, other, to, of)
#endif

#endif
