/* mote_matmul_pairs_s8.h: int8 products of computed matrices, two rows and four columns at a time, for cores with DSP
 * instructions.
 *
 * The right matrix is widened once for each product, less its zero point and doubled, so that the high word of a
 * requantization is rounded; so are two rows of the left one at a time. Words have two values in the order in which
 * widening gives them, 0 and 2, 1 and 3 of each four along a sum, for each column (or row) in turn. Depth and columns are
 * padded with zeros to multiples of four. Besides 11 instructions for 16 products there are 59 for eight sums. */
#ifndef MOTE_MATMUL_PAIRS_S8_H
#define MOTE_MATMUL_PAIRS_S8_H

#include "mote_dsp.h"
#include "mote_packed_matmul.h"

/* Four columns after another of two rows, up to `stop` in the first of them. Assembly knows the order. */
typedef struct {
    int32_t mult, add, shift;
    const uint32_t *left, *end; /* two packed rows */
    int8_t *out, *below;        /* the second row may be the first one again */
    int8_t *stop;
    int32_t skip; /* steps of four at the begin of the loop, 4: there is no loop */
    const uint32_t *right;
} mote_pairs_run_t;

#if MOTE_DSP
#define MOTE_PAIRS_TWO(op, a, b, c, d) \
    "ldm r9!, {r12, lr}\n\t" \
    op("r" #a, "r10", "r12") op("r" #c, "r11", "r12") op("r" #b, "r10", "lr") op("r" #d, "r11", "lr")
#define MOTE_PAIRS_STEP(op) \
    "ldm r8!, {r10, r11}\n\t" \
    MOTE_PAIRS_TWO(op, 0, 1, 4, 5) \
    MOTE_PAIRS_TWO(op, 2, 3, 6, 7)
#define MOTE_PAIRS_BEGIN(sum, a, b) "smuad " sum ", " a ", " b "\n\t"
#define MOTE_PAIRS_ADD(sum, a, b) "smlad " sum ", " a ", " b ", " sum "\n\t"
#define MOTE_PAIRS_FOUR MOTE_PAIRS_STEP(MOTE_PAIRS_ADD) MOTE_PAIRS_STEP(MOTE_PAIRS_ADD)
#define MOTE_PAIRS_OUT(sum) \
    "add lr, r11, " sum ", asr #31\n\t" \
    "smmlar " sum ", " sum ", r10, lr\n\t" \
    "asr " sum ", " sum ", r12\n\t" \
    "ssat " sum ", #8, " sum "\n\t" \
    "strb " sum ", [r8], #1\n\t"

__attribute__((naked, noinline, unused)) static void mote_pairs_run(const mote_pairs_run_t *run
                                                                    __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r0, {r1-r10}\n\t"
                     "push {r1-r9}\n\t"
                     "mov r9, r10\n"
                     "1:\n\t"
                     "ldr r8, [sp, #12]\n\t" /* left */
                     MOTE_PAIRS_STEP(MOTE_PAIRS_BEGIN) MOTE_PAIRS_STEP(MOTE_PAIRS_ADD)
                     "ldr r10, [sp, #32]\n\t" /* skip */
                     "tbb [pc, r10]\n"
                     "2:\n\t"
                     ".byte (3f - 2b) / 2, (4f - 2b) / 2, (5f - 2b) / 2, (6f - 2b) / 2, (7f - 2b) / 2, 0\n"
                     "3:\n\t" MOTE_PAIRS_FOUR
                     "4:\n\t" MOTE_PAIRS_FOUR
                     "5:\n\t" MOTE_PAIRS_FOUR
                     "6:\n\t" MOTE_PAIRS_FOUR
                     "ldr r10, [sp, #16]\n\t" /* end */
                     "cmp r8, r10\n\t"
                     "bne 3b\n"
                     "7:\n\t"
                     "ldm sp, {r10, r11, r12}\n\t" /* mult, add, shift */
                     "ldr r8, [sp, #24]\n\t"       /* below */
                     MOTE_PAIRS_OUT("r4") MOTE_PAIRS_OUT("r5") MOTE_PAIRS_OUT("r6") MOTE_PAIRS_OUT("r7")
                     "str r8, [sp, #24]\n\t"
                     "ldr r8, [sp, #20]\n\t" /* out */
                     MOTE_PAIRS_OUT("r0") MOTE_PAIRS_OUT("r1") MOTE_PAIRS_OUT("r2") MOTE_PAIRS_OUT("r3")
                     "str r8, [sp, #20]\n\t"
                     "ldr r10, [sp, #28]\n\t" /* stop */
                     "cmp r8, r10\n\t"
                     "bne 1b\n\t"
                     "add sp, sp, #36\n\t"
                     "pop {r4-r11, pc}\n\t");
}

/* Bytes 0 and 2, or 1 and 3, of a word as half words, added to `to`. */
static inline uint32_t mote_pairs_even(uint32_t to, uint32_t word) {
    __asm__("sxtab16 %0, %0, %1" : "+r"(to) : "r"(word));
    return to;
}

static inline uint32_t mote_pairs_odd(uint32_t to, uint32_t word) {
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(to) : "r"(word));
    return to;
}

/* The lower halves of two words, and their upper ones. */
static inline uint32_t mote_pairs_lower(uint32_t a, uint32_t b) {
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(a) : "r"(a), "r"(b));
    return a;
}

static inline uint32_t mote_pairs_upper(uint32_t a, uint32_t b) {
    __asm__("pkhtb %0, %2, %1, asr #16" : "=r"(a) : "r"(a), "r"(b));
    return a;
}

/* Four columns of two products of a sum, which lie in words. */
static inline void mote_pairs_turn(uint32_t zero, uint32_t a, uint32_t b, uint32_t *to) {
    const uint32_t even = mote_pairs_even(mote_pairs_even(zero, a), a), odd = mote_pairs_odd(mote_pairs_odd(zero, a), a);
    const uint32_t even2 = mote_pairs_even(mote_pairs_even(zero, b), b);
    const uint32_t odd2 = mote_pairs_odd(mote_pairs_odd(zero, b), b);
    to[0] = mote_pairs_lower(even, even2);
    to[1] = mote_pairs_lower(odd, odd2);
    to[2] = mote_pairs_upper(even, even2);
    to[3] = mote_pairs_upper(odd, odd2);
}

/* Four products of four columns, which lie `line` bytes behind one another in words of columns, or of products. */
static inline void mote_pairs_columns(uint32_t zero, const int8_t *x, int32_t line, uint32_t *to) {
    const uint32_t a = mote_load4(x), b = mote_load4(x + line);
    const uint32_t c = mote_load4(x + 2 * line), d = mote_load4(x + 3 * line);
    mote_pairs_turn(zero, a, c, to);
    mote_pairs_turn(zero, b, d, to + 4);
}

static inline void mote_pairs_products(uint32_t zero, const int8_t *x, int32_t line, uint32_t *to) {
    for (int32_t i = 0; i < 4; i++, x += line) {
        const uint32_t word = mote_load4(x);
        to[i] = mote_pairs_even(mote_pairs_even(zero, word), word);
        to[4 + i] = mote_pairs_odd(mote_pairs_odd(zero, word), word);
    }
}

/* Four values of a row, and of the one below it. */
static inline void mote_pairs_rows(uint32_t zero, const int8_t *a, const int8_t *b, uint32_t *to) {
    const uint32_t above = mote_load4(a), below = mote_load4(b);
    to[0] = mote_pairs_even(zero, above);
    to[1] = mote_pairs_even(zero, below);
    to[2] = mote_pairs_odd(zero, above);
    to[3] = mote_pairs_odd(zero, below);
}
#else
static inline uint32_t mote_pairs_word(int32_t a, int32_t b) {
    return (uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16;
}

static inline int32_t mote_pairs_dot(uint32_t a, uint32_t b) {
    return mote_wrapping_add((int32_t)(int16_t)(a & 0xffff) * (int16_t)(b & 0xffff),
                             (int32_t)(int16_t)(a >> 16) * (int16_t)(b >> 16));
}

static inline void mote_pairs_run(const mote_pairs_run_t *run) {
    mote_packed_matmul_t p;
    const uint32_t *right = run->right;
    const int32_t words = (int32_t)(run->end - run->left);
    int8_t *out = run->out, *below = run->below;
    memset(&p, 0, sizeof p);
    p.mult = run->mult, p.add = run->add, p.shift = run->shift;
    for (; out < run->stop; out += 4, below += 4, right += 2 * words) {
        for (int32_t i = 0; i < 8; i++) {
            int32_t sum = 0;
            for (int32_t k = 0; k < words; k += 2) {
                sum = mote_wrapping_add(sum, mote_pairs_dot(run->left[k + i / 4], right[2 * k + i % 4]));
            }
            (i < 4 ? out : below)[i % 4] = mote_packed_finish(&p, sum);
        }
    }
}

/* The zero point as packing adds it: in both halves of a word. */
static inline int32_t mote_pairs_value(int32_t x, uint32_t zero) { return (int16_t)(x + (int32_t)(zero & 0xffff)); }

static inline void mote_pairs_columns(uint32_t zero, const int8_t *x, int32_t line, uint32_t *to) {
    for (int32_t i = 0; i < 8; i++) {
        const int8_t *const at = x + i / 4 * line + i % 4;
        to[i] = mote_pairs_word(mote_pairs_value(2 * at[0], zero), mote_pairs_value(2 * at[2 * line], zero));
    }
}

static inline void mote_pairs_products(uint32_t zero, const int8_t *x, int32_t line, uint32_t *to) {
    for (int32_t i = 0; i < 8; i++) {
        const int8_t *const at = x + i % 4 * line + i / 4;
        to[i] = mote_pairs_word(mote_pairs_value(2 * at[0], zero), mote_pairs_value(2 * at[2], zero));
    }
}

static inline void mote_pairs_rows(uint32_t zero, const int8_t *a, const int8_t *b, uint32_t *to) {
    for (int32_t i = 0; i < 4; i++) {
        const int8_t *const at = (i % 2 ? b : a) + i / 2;
        to[i] = mote_pairs_word(mote_pairs_value(at[0], zero), mote_pairs_value(at[2], zero));
    }
}
#endif

/* A number in both halves of a word. */
static inline uint32_t mote_pairs_both(int32_t x) { return (uint32_t)(uint16_t)x * 0x10001u; }

/* Words of two rows, or of four columns, are twice and four times as many. */
static inline int32_t mote_pairs_words(int32_t depth) { return (depth + 3) / 4 * 2; }

MOTE_NOINLINE void mote_pairs_pack_right(const mote_packed_matmul_t *p, const int8_t *right, uint32_t *to) {
    const int32_t depth = p->size.depth, line = p->size.right_line, step = p->size.right_step;
    const uint32_t zero = mote_pairs_both(-2 * p->right_zero);
    for (int32_t c = 0; c < p->size.columns; c += 4) {
        const int32_t first = mote_packed_first(p, c);
        const int8_t *x = right + first * line;
        int32_t k = 0;
        if (p->size.columns >= 4 && line == 1) {
            for (; k + 4 <= depth; k += 4, x += 4 * step, to += 8) {
                mote_pairs_columns(zero, x, step, to);
            }
        } else if (p->size.columns >= 4 && step == 1) {
            for (; k + 4 <= depth; k += 4, x += 4, to += 8) {
                mote_pairs_products(zero, x, line, to);
            }
        }
        for (; k < depth; k += 4, to += 8) {
            int8_t tile[16];
            mote_packed_tile(p, right, first, k, tile);
            mote_pairs_columns(zero, tile, 4, to);
        }
    }
}

/* Up to four values of a row. */
static inline void mote_pairs_some(const int8_t *x, int32_t step, int32_t n, int8_t *four) {
    for (int32_t i = 0; i < 4; i++) {
        four[i] = (int8_t)(i < n ? x[i * step] : 0);
    }
}

MOTE_HOT static inline void mote_pairs_pack_left(const mote_packed_matmul_t *p, const int8_t *a, const int8_t *b,
                                                 uint32_t *to) {
    const int32_t depth = p->size.depth, step = p->size.left_step;
    const uint32_t zero = mote_pairs_both(-p->left_zero);
    int32_t k = 0;
    if (step == 1) {
        for (; k + 4 <= depth; k += 4, to += 4) {
            mote_pairs_rows(zero, a + k, b + k, to);
        }
    }
    for (; k < depth; k += 4, to += 4) {
        int8_t above[4], below[4];
        mote_pairs_some(a + k * step, step, depth - k, above);
        mote_pairs_some(b + k * step, step, depth - k, below);
        mote_pairs_rows(zero, above, below, to);
    }
}

/* Scratch: two rows of the left matrix, and all columns of the right one. */
MOTE_NOINLINE void mote_pairs_product(const mote_packed_matmul_t *p, const mote_product_t *at, uint32_t *scratch) {
    const int32_t words = mote_pairs_words(p->size.depth), whole = p->size.columns & ~3, rest = p->size.columns & 3;
    const int32_t more = words / 2 - 1, line = p->size.left_line;
    uint32_t *const right = scratch + 2 * words;
    const int8_t *a = at->left;
    int8_t *out = at->out;
    mote_pairs_run_t run;
    run.mult = p->mult, run.add = p->add, run.shift = p->shift;
    run.left = scratch, run.end = right;
    run.skip = more ? -more & 3 : 4;
    mote_pairs_pack_right(p, at->right, right);
    for (int32_t rows = p->size.rows; rows > 0; rows -= 2, a += 2 * line, out += 2 * p->out_line) {
        int8_t *const below = rows > 1 ? out + p->out_line : out;
        mote_pairs_pack_left(p, a, rows > 1 ? a + line : a, scratch);
        run.right = right;
        run.out = out, run.below = below, run.stop = out + whole;
        if (whole) {
            mote_pairs_run(&run);
        }
        if (rest) {
            int8_t four[8];
            const int32_t first = mote_packed_first(p, whole);
            run.right = right + whole * words;
            run.out = whole ? out + first : four, run.below = whole ? below + first : four + 4;
            run.stop = run.out + 4;
            mote_pairs_run(&run);
            if (!whole) {
                memcpy(out, four, (size_t)rest);
                memcpy(below, four + 4, (size_t)rest);
            }
        }
    }
}

MOTE_PACKED_MATMUL(matmul_pairs_s8, mote_pairs_product)

#endif
