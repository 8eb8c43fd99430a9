/* mote_pairs_vectors.h: larger and smaller elements of two tensors, int16 sums and products, and squares of differences,
 * with vectors: what mote_pairs.h and mote_quantized.h compute.
 *
 * Loops have no rest: the last vector has as many lanes as elements are left. Addresses need no alignment beyond that
 * of elements. */
#ifndef MOTE_PAIRS_VECTORS_H
#define MOTE_PAIRS_VECTORS_H

#include "mote_helium.h"
#include "mote_quantized.h"

#if MOTE_HELIUM
/* MOTE_PAIRS where `run(p, a, a_step, b, b_step, out, n)` computes n elements and gives 1, or does nothing and gives 0. */
#define MOTE_PAIRS_VECTORS(name, params, one, other, to, of, run) \
    static inline void mote_##name##_run(const params *p, const one *a, int32_t a_step, const other *b, \
                                         int32_t b_step, to *out, int32_t n) { \
        if (run(p, a, a_step, b, b_step, out, n)) { \
            return; \
        } \
        for (; n > 0; n--, a += a_step, b += b_step) { \
            *out++ = (to)of(p, *a, *b); \
        } \
    } \
    MOTE_PAIRS_KERNELS(name, params, one, other, to)

/* A loop over vectors q0 of a and q1 of b, of which q2 is made; `begin` makes the one that is the same all the time. */
#define MOTE_VECTORS_EXTREME_LOOP(begin, loads, letter, bits, work, fixed) \
    __asm__ volatile(begin "wlstp." bits " lr, %[n], 2f\n" \
                           "1:\n\t" loads work "vstr" letter "." bits " q2, [%[out]], #16\n\t" \
                           "letp lr, 1b\n" \
                           "2:\n\t" \
                     : [a] "+&r"(a), [b] "+&r"(b), [out] "+&r"(out) \
                     : [n] "r"(n), [same] "r"(fixed) \
                     : "lr", "q0", "q1", "q2", "cc", "memory")

#define MOTE_VECTORS_EXTREME(name, type, letter, bits, work) \
    MOTE_UNUSED static inline int32_t mote_lanes_##name(const mote_nothing_t *p, const type *a, int32_t a_step, \
                                                  const type *b, int32_t b_step, type *out, int32_t n) { \
        (void)p; \
        if (a_step == 0) { \
            MOTE_VECTORS_EXTREME_LOOP("vdup." bits " q0, %[same]\n\t", MOTE_VECTORS_EXTREME_LOAD("q1", "b", letter, bits), letter, bits, \
                              work, *a); \
        } else if (b_step == 0) { \
            MOTE_VECTORS_EXTREME_LOOP("vdup." bits " q1, %[same]\n\t", MOTE_VECTORS_EXTREME_LOAD("q0", "a", letter, bits), letter, bits, \
                              work, *b); \
        } else { \
            MOTE_VECTORS_EXTREME_LOOP("", \
                              MOTE_VECTORS_EXTREME_LOAD("q0", "a", letter, bits) MOTE_VECTORS_EXTREME_LOAD("q1", "b", letter, bits), \
                              letter, bits, work, 0); \
        } \
        return 1; \
    }
#define MOTE_VECTORS_EXTREME_LOAD(q, x, letter, bits) "vldr" letter ".u" bits " " q ", [%[" x "]], #16\n\t"
#define MOTE_VECTORS_EXTREMES(suffix, type, letter, bits, kind) \
    MOTE_VECTORS_EXTREME(maxima_##suffix, type, letter, bits, "vmax." kind " q2, q0, q1\n\t") \
    MOTE_VECTORS_EXTREME(minima_##suffix, type, letter, bits, "vmin." kind " q2, q0, q1\n\t")

MOTE_VECTORS_EXTREMES(s8, int8_t, "b", "8", "s8")
MOTE_VECTORS_EXTREMES(u8, uint8_t, "b", "8", "u8")
MOTE_VECTORS_EXTREMES(s16, int16_t, "h", "16", "s16")
MOTE_VECTORS_EXTREMES(s32, int32_t, "w", "32", "s32")

#if MOTE_HELIUM_FLOAT
/* Comparisons with what is no number are false: it is b then. */
MOTE_VECTORS_EXTREME(maxima_f32, float, "w", "32", "vcmp.f32 gt, q0, q1\n\tvpsel q2, q0, q1\n\t")
MOTE_VECTORS_EXTREME(minima_f32, float, "w", "32", "vcmp.f32 gt, q1, q0\n\tvpsel q2, q0, q1\n\t")
#endif

/* mote_rescale by registers: of x, times `mult` and shifted right. The sign of x is added to the product, so that halves
 * are rounded away from zero; where nothing is shifted, the vector `away` shifts it out to the left. */
#define MOTE_VECTORS_RESCALE(q, x, mult, away, after) \
    "vshl.s32 " q ", " x ", " away "\n\t" \
    "vqrdmlah.s32 " q ", " x ", " mult "\n\t" \
    "vrshl.s32 " q ", " after "\n\t"

/* What becomes of x: rescaled, with the zero point, clamped. */
#define MOTE_VECTORS_RESULT(x, least) \
    MOTE_VECTORS_RESCALE("q0", x, "r8", "q5", "r9") \
    "vadd.i32 q0, q0, r10\n\t" least "vmin.s32 q0, q0, q7\n\t"
#define MOTE_VECTORS_LEAST "vmax.s32 q0, q0, q6\n\t"

#define MOTE_VECTORS_STORE_s8 "vstrb.32 q0, [r2], #4\n\t"
#define MOTE_VECTORS_STORE_s16 "vstrh.32 q0, [r2], #8\n\t"

/* What the loops below need: registers from r4 on, n last. */
typedef struct {
    int32_t a_away, b_away, y_away, low, high;
    int32_t a_mult, a_after;
    int32_t b_mult, b_after; /* b_mult is instead the term of an operand that is the same for all elements */
    int32_t y_mult, y_after, y_zero;
    int32_t sign, zero; /* of sums -1 where the second term is subtracted; of squares the zero points */
    int32_t n;
} mote_vectors_terms_t;

#define MOTE_VECTORS_FUNCTION(name, text) \
    __attribute__((naked, noinline, unused)) static void mote_vectors_##name( \
        const void *a __attribute__((unused)), const void *b __attribute__((unused)), \
        void *out __attribute__((unused)), const mote_vectors_terms_t *terms __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "vpush {d8-d15}\n\t" \
                         "ldm r3!, {r4-r8}\n\t" \
                         "vdup.32 q3, r4\n\t" \
                         "vdup.32 q4, r5\n\t" \
                         "vdup.32 q5, r6\n\t" \
                         "vdup.32 q6, r7\n\t" \
                         "vdup.32 q7, r8\n\t" \
                         "ldm r3, {r4-r12, lr}\n\t" \
                         "wlstp.32 lr, lr, 2f\n" \
                         "1:\n\t" text "letp lr, 1b\n" \
                         "2:\n\t" \
                         "vpop {d8-d15}\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }

/* The terms of elements that are loaded by `load`: q2 of the first operand, q0 of the second. */
#define MOTE_VECTORS_TERM_A(load) load("q0", "r0", "r11") MOTE_VECTORS_RESCALE("q2", "q0", "r4", "q3", "r5")
#define MOTE_VECTORS_TERM_B(load) load("q1", "r1", "r12") MOTE_VECTORS_RESCALE("q0", "q1", "r6", "q4", "r7")
#define MOTE_VECTORS_SUM(q, x, zero) "vldrh.s32 " q ", [" x "], #8\n\tvshl.i32 " q ", " q ", #15\n\t"
#define MOTE_VECTORS_SQUARE_s8(q, x, zero) \
    "vldrb.s32 " q ", [" x "], #4\n\tvsub.i32 " q ", " q ", " zero "\n\tvshl.i32 " q ", " q ", #7\n\t"
#define MOTE_VECTORS_SQUARE_s16(q, x, zero) "vldrh.s32 " q ", [" x "], #8\n\tvsub.i32 " q ", " q ", " zero "\n\t"

MOTE_VECTORS_FUNCTION(sums_s16, MOTE_VECTORS_TERM_A(MOTE_VECTORS_SUM) MOTE_VECTORS_TERM_B(MOTE_VECTORS_SUM)
                      "vmla.s32 q2, q0, r11\n\t" MOTE_VECTORS_RESULT("q2", MOTE_VECTORS_LEAST) MOTE_VECTORS_STORE_s16)
MOTE_VECTORS_FUNCTION(sums_by_s16, MOTE_VECTORS_TERM_A(MOTE_VECTORS_SUM)
                      "vmul.i32 q2, q2, r11\n\t"
                      "vadd.i32 q2, q2, r6\n\t" MOTE_VECTORS_RESULT("q2", MOTE_VECTORS_LEAST) MOTE_VECTORS_STORE_s16)
MOTE_VECTORS_FUNCTION(products_s16,
                      "vldrh.s32 q1, [r0], #8\n\t"
                      "vldrh.s32 q2, [r1], #8\n\t"
                      "vmul.i32 q1, q1, q2\n\t" MOTE_VECTORS_RESULT("q1", MOTE_VECTORS_LEAST) MOTE_VECTORS_STORE_s16)
MOTE_VECTORS_FUNCTION(products_by_s16,
                      "vldrh.s32 q1, [r0], #8\n\t"
                      "vmul.i32 q1, q1, r6\n\t" MOTE_VECTORS_RESULT("q1", MOTE_VECTORS_LEAST) MOTE_VECTORS_STORE_s16)

/* Squares are not negative: none is below the least number. */
#define MOTE_VECTORS_SQUARES(suffix) \
    MOTE_VECTORS_FUNCTION(squares_##suffix, \
                          MOTE_VECTORS_TERM_A(MOTE_VECTORS_SQUARE_##suffix) \
                          MOTE_VECTORS_TERM_B(MOTE_VECTORS_SQUARE_##suffix) \
                          "vsub.i32 q2, q2, q0\n\t" \
                          "vmul.i32 q2, q2, q2\n\t" MOTE_VECTORS_RESULT("q2", "") MOTE_VECTORS_STORE_##suffix) \
    MOTE_VECTORS_FUNCTION(squares_by_##suffix, \
                          MOTE_VECTORS_TERM_A(MOTE_VECTORS_SQUARE_##suffix) \
                          "vsub.i32 q2, q2, r6\n\t" \
                          "vmul.i32 q2, q2, q2\n\t" MOTE_VECTORS_RESULT("q2", "") MOTE_VECTORS_STORE_##suffix)

MOTE_VECTORS_SQUARES(s8)
MOTE_VECTORS_SQUARES(s16)

static inline int32_t mote_vectors_after(int32_t shift) { return -1 - shift; }

static inline int32_t mote_vectors_away(int32_t shift) { return shift < 0 ? 32 : -31; }

/* The terms of the first operand and of the result; what shifts to the left is left to the portable loop. */
static inline int32_t mote_vectors_terms(mote_vectors_terms_t *t, const mote_term_t *a, const mote_result_t *y, int32_t n) {
    t->a_mult = a->mult, t->a_after = mote_vectors_after(a->shift), t->a_away = mote_vectors_away(a->shift);
    t->b_mult = 0, t->b_after = 0, t->b_away = 0;
    t->y_mult = y->mult, t->y_after = mote_vectors_after(y->shift), t->y_away = mote_vectors_away(y->shift);
    t->y_zero = y->zero, t->low = y->lo, t->high = y->hi;
    t->sign = 0, t->zero = 0, t->n = n;
    return a->shift >= -1 && y->shift >= -1;
}

static inline void mote_vectors_second(mote_vectors_terms_t *t, const mote_term_t *b) {
    t->b_mult = b->mult, t->b_after = mote_vectors_after(b->shift), t->b_away = mote_vectors_away(b->shift);
}

MOTE_UNUSED static inline int32_t mote_lanes_sums_s16(const mote_sum_s16_t *p, const int16_t *a, int32_t a_step,
                                                const int16_t *b, int32_t b_step, int16_t *out, int32_t n) {
    mote_vectors_terms_t t;
    const int32_t turned = a_step == 0;
    if (!mote_vectors_terms(&t, turned ? &p->b : &p->a, &p->y, n) || p->b.shift < -1 || p->a.zero != 0 ||
        p->b.zero != 0) {
        return 0;
    }
    t.sign = p->sign;
    if (turned) {
        t.b_mult = mote_summed_s16(&p->a, *a);
        mote_vectors_sums_by_s16(b, NULL, out, &t);
    } else if (b_step == 0) {
        t.b_mult = (int32_t)((uint32_t)p->sign * (uint32_t)mote_summed_s16(&p->b, *b));
        t.sign = 1;
        mote_vectors_sums_by_s16(a, NULL, out, &t);
    } else {
        mote_vectors_second(&t, &p->b);
        mote_vectors_sums_s16(a, b, out, &t);
    }
    return 1;
}

MOTE_UNUSED static inline int32_t mote_lanes_products_s16(const mote_result_t *p, const int16_t *a, int32_t a_step,
                                                    const int16_t *b, int32_t b_step, int16_t *out, int32_t n) {
    static const mote_term_t none = {0, 0, 0};
    mote_vectors_terms_t t;
    if (!mote_vectors_terms(&t, &none, p, n)) {
        return 0;
    }
    if (a_step == 0 || b_step == 0) {
        t.b_mult = a_step == 0 ? *a : *b;
        mote_vectors_products_by_s16(a_step == 0 ? b : a, NULL, out, &t);
    } else {
        mote_vectors_products_s16(a, b, out, &t);
    }
    return 1;
}

#define MOTE_SQUARES(suffix, type, places) \
    MOTE_UNUSED static inline int32_t mote_lanes_squares_##suffix(const mote_square_t *p, const type *a, int32_t a_step, \
                                                            const type *b, int32_t b_step, type *out, int32_t n) { \
        mote_vectors_terms_t t; \
        const mote_term_t *first = a_step == 0 ? &p->b : &p->a, *second = a_step == 0 ? &p->a : &p->b; \
        if (!mote_vectors_terms(&t, first, &p->y, n) || second->shift < -1 || p->unit != (int32_t)1 << places || \
            p->y.lo > p->y.zero) { \
            return 0; \
        } \
        t.sign = first->zero, t.zero = second->zero; \
        if (a_step == 0 || b_step == 0) { \
            t.b_mult = mote_squared(second, p->unit, a_step == 0 ? *a : *b); \
            mote_vectors_squares_by_##suffix(a_step == 0 ? b : a, NULL, out, &t); \
        } else { \
            mote_vectors_second(&t, second); \
            mote_vectors_squares_##suffix(a, b, out, &t); \
        } \
        return 1; \
    }

MOTE_SQUARES(s8, int8_t, 7)
MOTE_SQUARES(s16, int16_t, 0)
#else
#define MOTE_PAIRS_VECTORS(name, params, one, other, to, of, run) MOTE_PAIRS(name, params, one, other, to, of)
#endif

#endif
