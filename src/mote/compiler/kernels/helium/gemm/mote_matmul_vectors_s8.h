/* mote_matmul_vectors_s8.h: int8 products of computed matrices, two rows and four columns at a time, for cores with
 * Helium.
 *
 * One instruction adds sixteen products to a sum in a core register; eight of these are sums, which become the lanes of
 * two vectors for requantization. For that the right matrix is copied once for each product, so that the values of each
 * column lie behind one another: [columns in fours][steps of sixteen products][four][sixteen], padded with zeros; behind
 * four columns lies what their sums lack for the zero point of the left matrix. Rows are copied where they do not
 * lie in whole vectors. 16 instructions for 128 products, 30 for eight sums. */
#ifndef MOTE_MATMUL_VECTORS_S8_H
#define MOTE_MATMUL_VECTORS_S8_H

#include "mote_helium.h"
#include "mote_packed_matmul.h"

#define MOTE_VECTORS_STEP 8192 /* values of a sum lie no further apart, so that offsets of eight fit half words */

/* Four columns after another of two rows, up to `stop` in the first of them. Assembly knows the order. */
typedef struct {
    int32_t mult, left_shift, zero;
    int32_t term, term_below; /* what the sums of both rows lack for the zero point of the right matrix */
    const int8_t *left, *left_below, *end;
    int8_t *stop;
    const int8_t *right;
    int8_t *out, *below; /* the second row may be the first one again */
} mote_vectors_run_t;

#if MOTE_HELIUM
#define MOTE_VECTORS_COLUMN(op, column, above, below) \
    "vldrb.u8 " column ", [r5], #16\n\t" op ".s8 " above ", q0, " column "\n\t" op ".s8 " below ", q1, " column "\n\t"
#define MOTE_VECTORS_SIXTEEN(op) \
    "vldrb.u8 q0, [r1], #16\n\t" \
    "vldrb.u8 q1, [r3], #16\n\t" \
    MOTE_VECTORS_COLUMN(op, "q2", "r0", "r8") \
    MOTE_VECTORS_COLUMN(op, "q3", "r2", "r10") \
    MOTE_VECTORS_COLUMN(op, "q2", "r4", "r12") \
    MOTE_VECTORS_COLUMN(op, "q3", "r6", "lr")
/* Sums as bytes: r0 is the multiplier, r2 the shift, r4 the zero point. */
#define MOTE_VECTORS_OUT(sums, to) \
    "vqrdmulh.s32 q2, " sums ", r0\n\t" \
    "vshr.s32 " sums ", " sums ", #31\n\t" \
    "vadd.i32 q2, q2, " sums "\n\t" \
    "vrshl.s32 q2, r2\n\t" \
    "vadd.i32 q2, q2, r4\n\t" \
    "vqmovnb.s32 q2, q2\n\t" \
    "vqmovnb.s16 q2, q2\n\t" \
    "vstrb.32 q2, [" to "], #4\n\t"

__attribute__((naked, noinline, unused)) static void mote_vectors_run(const mote_vectors_run_t *run
                                                                      __attribute__((unused))) {
    __asm__ volatile("push {r4-r11, lr}\n\t"
                     "ldm r0, {r1-r12}\n\t"
                     "push {r1-r12}\n\t"
                     "mov r5, r10\n\t"
                     "ldrd r7, r9, [sp, #28]\n" /* end, stop */
                     "1:\n\t"
                     "ldrd r1, r3, [sp, #20]\n\t" /* left, left_below */
                     MOTE_VECTORS_SIXTEEN("vmladav")
                     "cmp r1, r7\n\t"
                     "beq 3f\n"
                     "2:\n\t" MOTE_VECTORS_SIXTEEN("vmladava")
                     "cmp r1, r7\n\t"
                     "bne 2b\n"
                     "3:\n\t"
                     "vldrw.u32 q3, [r5], #16\n\t"
                     "vmov q0[2], q0[0], r0, r4\n\t"
                     "vmov q0[3], q0[1], r2, r6\n\t"
                     "vmov q1[2], q1[0], r8, r12\n\t"
                     "vmov q1[3], q1[1], r10, lr\n\t"
                     "ldm sp, {r0, r2, r4, r6, r8}\n\t" /* mult, left_shift, zero, term, term_below */
                     "vadd.i32 q0, q0, q3\n\t"
                     "vadd.i32 q1, q1, q3\n\t"
                     "vadd.i32 q0, q0, r6\n\t"
                     "vadd.i32 q1, q1, r8\n\t"
                     "ldrd r1, r3, [sp, #40]\n\t" /* out, below */
                     MOTE_VECTORS_OUT("q0", "r1") MOTE_VECTORS_OUT("q1", "r3")
                     "strd r1, r3, [sp, #40]\n\t"
                     "cmp r1, r9\n\t"
                     "bne 1b\n\t"
                     "add sp, sp, #48\n\t"
                     "pop {r4-r11, pc}\n\t");
}

/* Copies n >= 1 bytes in sixteens, `apart` bytes apart and padded with zeros, and gives their sum. */
__attribute__((naked, noinline, unused)) static int32_t mote_vectors_copy(const int8_t *x __attribute__((unused)),
                                                                          int32_t apart __attribute__((unused)),
                                                                          int32_t n __attribute__((unused)),
                                                                          int8_t *to __attribute__((unused))) {
    __asm__ volatile("mov r12, #0\n"
                     "1:\n\t"
                     "vctp.8 r2\n\t"
                     "vpst\n\t"
                     "vldrbt.u8 q0, [r0], #16\n\t"
                     "subs r2, r2, #16\n\t"
                     "vaddva.s8 r12, q0\n\t"
                     "vstrb.8 q0, [r3]\n\t"
                     "add r3, r3, r1\n\t"
                     "bgt 1b\n\t"
                     "mov r0, r12\n\t"
                     "bx lr\n\t");
}

/* The same of bytes that lie `step` bytes apart; apart_n: `apart` and n. */
__attribute__((naked, noinline, unused)) static int32_t mote_vectors_gather(const int8_t *x __attribute__((unused)),
                                                                            int32_t step __attribute__((unused)),
                                                                            const int32_t *apart_n
                                                                            __attribute__((unused)),
                                                                            int8_t *to __attribute__((unused))) {
    __asm__ volatile("push {r4-r6, lr}\n\t"
                     "ldrd r5, r2, [r2]\n\t"
                     "mov r4, #0\n\t"
                     "mov r12, #0\n\t"
                     "vidup.u16 q0, r4, #1\n\t"
                     "vmul.i16 q0, q0, r1\n\t"
                     "lsl r1, r1, #3\n"
                     "1:\n\t"
                     "vctp.16 r2\n\t"
                     "vpst\n\t"
                     "vldrbt.s16 q1, [r0, q0]\n\t"
                     "add r0, r0, r1\n\t"
                     "subs r2, r2, #8\n\t"
                     "it mi\n\t"
                     "movmi r2, #0\n\t"
                     "vctp.16 r2\n\t"
                     "vpst\n\t"
                     "vldrbt.s16 q2, [r0, q0]\n\t"
                     "add r0, r0, r1\n\t"
                     "vaddva.s16 r12, q1\n\t"
                     "vaddva.s16 r12, q2\n\t"
                     "vstrb.16 q1, [r3]\n\t"
                     "vstrb.16 q2, [r3, #8]\n\t"
                     "add r3, r3, r5\n\t"
                     "subs r2, r2, #8\n\t"
                     "bgt 1b\n\t"
                     "mov r0, r12\n\t"
                     "pop {r4-r6, pc}\n\t");
}

/* n values of a sum, copied in sixteens, and their sum. */
static inline int32_t mote_vectors_values(const int8_t *x, int32_t step, int32_t n, int32_t apart, int8_t *to) {
    const int32_t apart_n[2] = {apart, n};
    return step == 1 ? mote_vectors_copy(x, apart, n, to) : mote_vectors_gather(x, step, apart_n, to);
}

/* The sum of n >= 1 bytes. */
static inline int32_t mote_vectors_sum(const int8_t *x, int32_t n) {
    int32_t sum = 0;
    __asm__("wlstp.8 lr, %2, 2f\n"
            "1:\n\t"
            "vldrb.u8 q0, [%1], #16\n\t"
            "vaddva.s8 %0, q0\n\t"
            "letp lr, 1b\n"
            "2:\n\t"
            : "+Te"(sum), "+r"(x)
            : "r"(n)
            : "lr", "q0", "cc", "memory");
    return sum;
}
#else
static inline int32_t mote_vectors_sum(const int8_t *x, int32_t n) {
    int32_t sum = 0;
    for (int32_t k = 0; k < n; k++) {
        sum += x[k];
    }
    return sum;
}

static inline int32_t mote_vectors_values(const int8_t *x, int32_t step, int32_t n, int32_t apart, int8_t *to) {
    int32_t sum = 0;
    for (int32_t k = 0; k < n; k += 16, to += apart) {
        for (int32_t i = 0; i < 16; i++) {
            to[i] = (int8_t)(k + i < n ? x[(k + i) * step] : 0);
            sum += to[i];
        }
    }
    return sum;
}

static inline int32_t mote_vectors_dot(const mote_vectors_run_t *run, const int8_t *left, const int8_t *right) {
    const int32_t n = (int32_t)(run->end - run->left);
    int32_t sum = 0;
    for (int32_t k = 0; k < n; k++) {
        sum = mote_wrapping_add(sum, left[k] * right[k / 16 * 64 + k % 16]);
    }
    return sum;
}

static inline void mote_vectors_run(const mote_vectors_run_t *run) {
    const int32_t deep = 4 * (int32_t)(run->end - run->left);
    const int8_t *right = run->right;
    int8_t *out = run->out, *below = run->below;
    mote_packed_matmul_t p;
    memset(&p, 0, sizeof p);
    p.mult = run->mult, p.shift = -run->left_shift;
    p.add = (int32_t)(((uint32_t)run->zero << p.shift) + ((uint32_t)1 << (p.shift - 1)));
    for (; out < run->stop; out += 4, below += 4, right += deep + 16) {
        int32_t terms[4];
        memcpy(terms, right + deep, sizeof terms);
        for (int32_t i = 0; i < 8; i++) {
            const int32_t c = i % 4, dot = mote_vectors_dot(run, i < 4 ? run->left : run->left_below, right + 16 * c);
            const int32_t sum = mote_wrapping_add(mote_wrapping_add(dot, terms[c]), i < 4 ? run->term : run->term_below);
            (i < 4 ? out : below)[c] = mote_packed_finish(&p, mote_wrapping_add(sum, sum));
        }
    }
}
#endif

static inline int32_t mote_vectors_deep(int32_t depth) { return (depth + 15) / 16 * 16; }

MOTE_NOINLINE void mote_vectors_pack(const mote_packed_matmul_t *p, const int8_t *right, int8_t *to) {
    const int32_t depth = p->size.depth, deep = mote_vectors_deep(depth);
    const uint32_t all = (uint32_t)depth * (uint32_t)p->left_zero * (uint32_t)p->right_zero;
    for (int32_t c = 0; c < p->size.columns; c += 4, to += 4 * deep + 16) {
        const int32_t first = mote_packed_first(p, c);
        int32_t terms[4];
        for (int32_t i = 0; i < 4; i++) {
            const int8_t *x = right + mote_min(first + i, p->size.columns - 1) * p->size.right_line;
            const int32_t sum = mote_vectors_values(x, p->size.right_step, depth, 64, to + 16 * i);
            terms[i] = (int32_t)(all - (uint32_t)sum * (uint32_t)p->left_zero);
        }
        memcpy(to + 4 * deep, terms, sizeof terms);
    }
}

/* A row of the left matrix in whole vectors, and what its sums lack. */
static inline const int8_t *mote_vectors_row(const mote_packed_matmul_t *p, const int8_t *x, int8_t *copy,
                                             int32_t *term) {
    const int32_t depth = p->size.depth, step = p->size.left_step, whole = step == 1 && depth % 16 == 0;
    const int32_t sum = whole ? mote_vectors_sum(x, depth) : mote_vectors_values(x, step, depth, 16, copy);
    *term = (int32_t)(0 - (uint32_t)sum * (uint32_t)p->right_zero);
    return whole ? x : copy;
}

/* Scratch: two rows of the left matrix, and all columns of the right one. */
MOTE_NOINLINE void mote_vectors_product(const mote_packed_matmul_t *p, const mote_product_t *at, uint32_t *scratch) {
    const int32_t deep = mote_vectors_deep(p->size.depth), line = p->size.left_line;
    const int32_t whole = p->size.columns & ~3, rest = p->size.columns & 3;
    int8_t *const copies = (int8_t *)scratch, *const right = copies + 2 * deep, *out = at->out;
    const int8_t *a = at->left;
    mote_vectors_run_t run;
    run.mult = p->mult, run.left_shift = -p->shift, run.zero = p->add >> p->shift;
    mote_vectors_pack(p, at->right, right);
    for (int32_t rows = p->size.rows; rows > 0; rows -= 2, a += 2 * line, out += 2 * p->out_line) {
        int8_t *const below = rows > 1 ? out + p->out_line : out;
        run.left = mote_vectors_row(p, a, copies, &run.term);
        run.left_below = mote_vectors_row(p, rows > 1 ? a + line : a, copies + deep, &run.term_below);
        run.end = run.left + deep;
        run.right = right;
        run.out = out, run.below = below, run.stop = out + whole;
        if (whole) {
            mote_vectors_run(&run);
        }
        if (rest) {
            int8_t four[8];
            const int32_t first = mote_packed_first(p, whole);
            run.right = right + whole / 4 * (4 * deep + 16);
            run.out = whole ? out + first : four, run.below = whole ? below + first : four + 4;
            run.stop = run.out + 4;
            mote_vectors_run(&run);
            if (!whole) {
                memcpy(out, four, (size_t)rest);
                memcpy(below, four + 4, (size_t)rest);
            }
        }
    }
}

MOTE_PACKED_MATMUL(matmul_vectors_s8, mote_vectors_product)

#endif
