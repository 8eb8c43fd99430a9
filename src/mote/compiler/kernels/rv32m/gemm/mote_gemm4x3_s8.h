/* mote_gemm4x3_s8.h: int8 convolutions four pixels and three channels at a time, for RISC-V.
 *
 * Four pixels are two words for each input (see mote_lanes_s8.h), which all channels share; a weight is a byte, loaded
 * for four products, which take two multiplications. High sums are taken out after four inputs. Weights with which
 * a sum of four might not fit are zero there, and listed apart: `spill`. 89 instructions for 48 products; sums stay in
 * registers until they are bytes.
 *
 * Weights are in blocks of three channels, the last one or two of two channels: [inputs][channels of the block].
 * Bytes are made in one of two forms: `plain`, or `halves` where negative results can be seen.
 */
#ifndef MOTE_GEMM4X3_S8_H
#define MOTE_GEMM4X3_S8_H

#include "mote_conv2d_s8.h"
#include "mote_lanes_s8.h"

typedef struct {
    int32_t depth;           /* products in a sum, padded to a multiple of four */
    int32_t channels, pixel; /* sums in a pixel, two at least, and from one output pixel to the next */
    int32_t threes, twos;    /* blocks of so many channels */
    int32_t lo, hi;
    const int8_t *weights;
    const mote_lanes_channel_t *channel;
    const int16_t *spill; /* of each channel: how many, then pairs of an input and a weight */
} mote_gemm4x3_t;

#define MOTE_GEMM4X3_TAIL 12 /* words behind those of the inputs */

#if defined(__riscv) && __riscv_xlen == 32 && defined(__riscv_mul) && !defined(__riscv_32e) && defined(__GNUC__)

/* Behind the words of the inputs: what is not kept in registers. */
typedef struct {
    const uint32_t *inputs;
    const mote_lanes_channel_t *channel;
    const int16_t *spill;
    int8_t *to[4];
    uint32_t less; /* what groups add to the low sums */
    int32_t lo, hi, blocks;
} mote_gemm4x3_tail_t;

/* %0: weights, %1: the tail, where the inputs end. a0: the next inputs, a3: half of a lane. Sums of channel c and word
 * i: T in t(2c + i), H in s(2 + 2c + i); those of a group in a4, a5, a6, a7, s8, s9. */
#define MOTE_G43_MUL2(w, a, b) \
    "mul " a ", s10, " w "\n\tmul " b ", s11, " w "\n\tadd " a ", " a ", a3\n\tadd " b ", " b ", a3\n\t"
#define MOTE_G43_MUL1(w, a, b) "mul " a ", s10, " w "\n\tadd " a ", " a ", a3\n\t"
#define MOTE_G43_MAC2(w, a, b) \
    "mul ra, s10, " w "\n\tadd " a ", " a ", ra\n\tmul ra, s11, " w "\n\tadd " b ", " b ", ra\n\t"
#define MOTE_G43_MAC1(w, a, b) "mul ra, s10, " w "\n\tadd " a ", " a ", ra\n\t"
#define MOTE_G43_X2(o) "lw s10, " o "(a0)\n\tlw s11, 4+" o "(a0)\n\t"
#define MOTE_G43_X1(o) "lw s10, " o "(a0)\n\t"
#define MOTE_G43_W(w, o) "lb " w ", " o "(%0)\n\t"

/* An input at offset x: its first weight is in a, others at offsets u and v; `next` loads the next input's first. */
#define MOTE_G43_STEP3(load, mac, x, u, v, next, a, b) \
    load(x) MOTE_G43_W(b, u) mac(a, "a4", "a5") MOTE_G43_W(a, v) mac(b, "a6", "a7") next mac(a, "s8", "s9")
#define MOTE_G43_STEP2(load, mac, x, u, next, a, b) \
    load(x) MOTE_G43_W(b, u) mac(a, "a4", "a5") next mac(b, "a6", "a7")
#define MOTE_G43_GROUP3(load, mul, mac) \
    MOTE_G43_W("s1", "0") \
    MOTE_G43_STEP3(load, mul, "0", "1", "2", MOTE_G43_W("t6", "3"), "s1", "t6") \
    MOTE_G43_STEP3(load, mac, "8", "4", "5", MOTE_G43_W("s1", "6"), "t6", "s1") \
    MOTE_G43_STEP3(load, mac, "16", "7", "8", MOTE_G43_W("t6", "9"), "s1", "t6") \
    MOTE_G43_STEP3(load, mac, "24", "10", "11", "addi a0, a0, 32\n\taddi %0, %0, 12\n\t", "t6", "s1")
#define MOTE_G43_GROUP2(load, mul, mac) \
    MOTE_G43_W("s1", "0") \
    MOTE_G43_STEP2(load, mul, "0", "1", MOTE_G43_W("s1", "2"), "s1", "t6") \
    MOTE_G43_STEP2(load, mac, "8", "3", MOTE_G43_W("s1", "4"), "s1", "t6") \
    MOTE_G43_STEP2(load, mac, "16", "5", MOTE_G43_W("s1", "6"), "s1", "t6") \
    MOTE_G43_STEP2(load, mac, "24", "7", "addi a0, a0, 32\n\taddi %0, %0, 8\n\t", "s1", "t6")

/* A group's sum a, whose high part is taken out. */
#define MOTE_G43_TAKE(low, high, a) \
    "add " low ", " low ", " a "\n\tsrai " a ", " a ", 16\n\tadd " high ", " high ", " a "\n\t"
#define MOTE_G43_TAKE2(low, high, a, low1, high1, b) MOTE_G43_TAKE(low, high, a) MOTE_G43_TAKE(low1, high1, b)
#define MOTE_G43_TAKE1(low, high, a, low1, high1, b) MOTE_G43_TAKE(low, high, a)

/* Where the sums of a channel begin, whose constants are at offset q of s10; s11: `less`. */
#define MOTE_G43_BEGIN1(low, high, low1, high1, q) \
    "lw " high ", " q "(s10)\n\tslli " low ", " high ", 16\n\tadd " low ", " low ", " high \
    "\n\tsub " low ", " low ", s11\n\t"
#define MOTE_G43_BEGIN2(low, high, low1, high1, q) \
    MOTE_G43_BEGIN1(low, high, low1, high1, q) "mv " low1 ", " low "\n\tmv " high1 ", " high "\n\t"

/* What the spilled weights of a channel add; s11: their list, a0: the inputs. */
#define MOTE_G43_SPILL(load, add) \
    "lh ra, 0(s11)\n\taddi s11, s11, 2\n\tbeqz ra, 4f\n" \
    "3:\n\tlh a4, 0(s11)\n\tlh a5, 2(s11)\n\taddi s11, s11, 4\n\tslli a4, a4, 3\n\tadd a4, a4, a0\n\t" load \
    "addi ra, ra, -1\n\t" add "bnez ra, 3b\n" \
    "4:\n\t"
#define MOTE_G43_SPILL2(low, high, low1, high1) \
    MOTE_G43_SPILL("lw a6, 0(a4)\n\tlw a7, 4(a4)\n\tmul a6, a6, a5\n\tmul a7, a7, a5\n\t", \
                   "add " low ", " low ", a6\n\tadd " low1 ", " low1 ", a7\n\tadd a6, a6, a3\n\tadd a7, a7, a3\n\t" \
                   "srai a6, a6, 16\n\tsrai a7, a7, 16\n\t" \
                   "add " high ", " high ", a6\n\tadd " high1 ", " high1 ", a7\n\t")
#define MOTE_G43_SPILL1(low, high, low1, high1) \
    MOTE_G43_SPILL("lw a6, 0(a4)\n\tmul a6, a6, a5\n\t", "add " low ", " low ", a6\n\tadd a6, a6, a3\n\t" \
                   "srai a6, a6, 16\n\tadd " high ", " high ", a6\n\t")

/* Sums as bytes; a4, a5, a6: mult, add, shift; s8, s9: lo, hi. Places are in a0, a7, s1 and t6. */
#define MOTE_G43_ROUND_plain(sum) ""
#define MOTE_G43_ROUND_halves(sum) \
    "addi " sum ", " sum ", 1\n\tsrai ra, " sum ", 31\n\tsrai " sum ", " sum ", 1\n\tadd " sum ", " sum ", ra\n\t"
#define MOTE_G43_BYTE(form, sum, to, at) \
    "slli " sum ", " sum ", 2\n\tmulh " sum ", " sum ", a4\n\t" MOTE_G43_ROUND_##form(sum) \
    "add " sum ", " sum ", a5\n\t" \
    "sra " sum ", " sum ", a6\n\t" MOTE_RV32_CLAMP(sum, "s8", "s9") "sb " sum ", " at "(" to ")\n\t"
#define MOTE_G43_BYTES1(form, low, high, low1, high1, q, at) \
    "lw a4, 4+" q "(s10)\n\tlw a5, 8+" q "(s10)\n\tlw a6, 12+" q "(s10)\n\tslli ra, " high ", 16\n\tsub " low ", " low \
    ", ra\n\t" MOTE_G43_BYTE(form, low, "a0", at) MOTE_G43_BYTE(form, high, "a7", at)
#define MOTE_G43_BYTES2(form, low, high, low1, high1, q, at) \
    MOTE_G43_BYTES1(form, low, high, low1, high1, q, at) \
    "slli ra, " high1 ", 16\n\tsub " low1 ", " low1 ", ra\n\t" MOTE_G43_BYTE(form, low1, "s1", at) \
        MOTE_G43_BYTE(form, high1, "t6", at)
#define MOTE_G43_PLACE(to, o, at) "addi " to ", " to ", " at "\n\tsw " to ", " o "(%1)\n\t"
#define MOTE_G43_PLACES1(at) MOTE_G43_PLACE("a0", "12", at) MOTE_G43_PLACE("a7", "16", at)
#define MOTE_G43_PLACES2(at) MOTE_G43_PLACES1(at) MOTE_G43_PLACE("s1", "20", at) MOTE_G43_PLACE("t6", "24", at)

#define MOTE_G43_RUN(begin, group, take, spill, bytes, places, skip) \
    __asm__ volatile("lui a3, 8\n" \
                     "2:\n\t" \
                     "lw a0, 0(%1)\n\tlw s10, 4(%1)\n\tlw s11, 28(%1)\n\t" begin "1:\n\t" group take \
                     "bne a0, %1, 1b\n\t" \
                     "lw s10, 4(%1)\n\tlw s11, 8(%1)\n\tlw a0, 0(%1)\n\t" spill "sw s11, 8(%1)\n\t" \
                     "lw s8, 32(%1)\n\tlw s9, 36(%1)\n\t" \
                     "lw a0, 12(%1)\n\tlw a7, 16(%1)\n\tlw s1, 20(%1)\n\tlw t6, 24(%1)\n\t" bytes places \
                     "lw ra, 40(%1)\n\taddi s10, s10, " skip "\n\tsw s10, 4(%1)\n\taddi ra, ra, -1\n\t" \
                     "sw ra, 40(%1)\n\tbnez ra, 2b\n\t" \
                     : "+r"(w) \
                     : "r"(tail) \
                     : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "s1", "s2", "s3", "s4", "s5", "s6", \
                       "s7", "s8", "s9", "s10", "s11", "a0", "a3", "a4", "a5", "a6", "a7")
/* All blocks of three channels with two words, or one; all of two channels. */
#define MOTE_G43_THREES(form, words) \
    MOTE_G43_RUN( \
        MOTE_G43_BEGIN##words("t0", "s2", "t1", "s3", "0") MOTE_G43_BEGIN##words("t2", "s4", "t3", "s5", "16") \
            MOTE_G43_BEGIN##words("t4", "s6", "t5", "s7", "32"), \
        MOTE_G43_GROUP3(MOTE_G43_X##words, MOTE_G43_MUL##words, MOTE_G43_MAC##words), \
        MOTE_G43_TAKE##words("t0", "s2", "a4", "t1", "s3", "a5") \
            MOTE_G43_TAKE##words("t2", "s4", "a6", "t3", "s5", "a7") \
                MOTE_G43_TAKE##words("t4", "s6", "s8", "t5", "s7", "s9"), \
        MOTE_G43_SPILL##words("t0", "s2", "t1", "s3") MOTE_G43_SPILL##words("t2", "s4", "t3", "s5") \
            MOTE_G43_SPILL##words("t4", "s6", "t5", "s7"), \
        MOTE_G43_BYTES##words(form, "t0", "s2", "t1", "s3", "0", "0") \
            MOTE_G43_BYTES##words(form, "t2", "s4", "t3", "s5", "16", "1") \
                MOTE_G43_BYTES##words(form, "t4", "s6", "t5", "s7", "32", "2"), \
        MOTE_G43_PLACES##words("3"), "48")
#define MOTE_G43_TWOS(form, words) \
    MOTE_G43_RUN( \
        MOTE_G43_BEGIN##words("t0", "s2", "t1", "s3", "0") MOTE_G43_BEGIN##words("t2", "s4", "t3", "s5", "16"), \
        MOTE_G43_GROUP2(MOTE_G43_X##words, MOTE_G43_MUL##words, MOTE_G43_MAC##words), \
        MOTE_G43_TAKE##words("t0", "s2", "a4", "t1", "s3", "a5") \
            MOTE_G43_TAKE##words("t2", "s4", "a6", "t3", "s5", "a7"), \
        MOTE_G43_SPILL##words("t0", "s2", "t1", "s3") MOTE_G43_SPILL##words("t2", "s4", "t3", "s5"), \
        MOTE_G43_BYTES##words(form, "t0", "s2", "t1", "s3", "0", "0") \
            MOTE_G43_BYTES##words(form, "t2", "s4", "t3", "s5", "16", "1"), \
        MOTE_G43_PLACES##words("2"), "32")

#define MOTE_GEMM4X3_ALL(form, byte) \
    MOTE_NOINLINE void mote_gemm4x3_##form(const mote_gemm4x3_t *g, uint32_t *x, int8_t *out, int32_t n) { \
        mote_gemm4x3_tail_t *const tail = (mote_gemm4x3_tail_t *)(x + 2 * g->depth); \
        const int8_t *w = g->weights; \
        tail->inputs = x; \
        tail->channel = g->channel; \
        tail->spill = g->spill; \
        for (int32_t i = 0; i < 4; i++) { \
            tail->to[i] = out + mote_min(i, n - 1) * g->pixel; \
        } \
        tail->less = (uint32_t)g->depth / 4 * MOTE_LANES_HALF; \
        tail->lo = g->lo; \
        tail->hi = g->hi; \
        tail->blocks = g->threes; \
        if (g->threes > 0 && n > 2) { \
            MOTE_G43_THREES(form, 2); \
        } else if (g->threes > 0) { \
            MOTE_G43_THREES(form, 1); \
        } \
        tail->blocks = g->twos; \
        if (g->twos > 0 && n > 2) { \
            MOTE_G43_TWOS(form, 2); \
        } else if (g->twos > 0) { \
            MOTE_G43_TWOS(form, 1); \
        } \
    }

#else

/* The sums of two pixels and one of the `block` channels whose weights are together. */
MOTE_ALWAYS_INLINE void mote_gemm4x3_sums(const uint32_t *x, int32_t depth, const int8_t *w, int32_t block, int32_t bias,
                                     const int16_t *spill, int32_t *sum) {
    uint32_t t = (uint32_t)bias * 0x10001u, h = (uint32_t)bias;
    for (const uint32_t *u = x, *const end = x + 2 * depth; u < end; u += 8, w += 4 * block) {
        const int32_t w0 = w[0], w1 = w[block], w2 = w[2 * block], w3 = w[3 * block];
        const uint32_t a = u[0] * (uint32_t)w0 + u[2] * (uint32_t)w1 + u[4] * (uint32_t)w2 + u[6] * (uint32_t)w3;
        t += a;
        h += (uint32_t)((int32_t)(a + MOTE_LANES_HALF) >> 16);
    }
    for (int32_t count = *spill++; count > 0; count--, spill += 2) {
        const int32_t weight = spill[1];
        const uint32_t a = x[2 * (int32_t)spill[0]] * (uint32_t)weight;
        t += a;
        h += (uint32_t)((int32_t)(a + MOTE_LANES_HALF) >> 16);
    }
    sum[0] = (int32_t)(t - (h << 16));
    sum[1] = (int32_t)h;
}

#define MOTE_GEMM4X3_ALL(form, byte) \
    MOTE_NOINLINE void mote_gemm4x3_##form(const mote_gemm4x3_t *g, uint32_t *x, int8_t *out, int32_t n) { \
        const int32_t depth = g->depth, lo = g->lo, hi = g->hi; \
        const int16_t *spill = g->spill; \
        const int8_t *w = g->weights; \
        for (int32_t c = 0, place = 0, threes = g->threes; c < g->channels; c++) { \
            const int32_t block = threes > 0 ? 3 : 2; \
            const mote_lanes_channel_t q = g->channel[c]; \
            for (int32_t i = 0; i < n; i += 2) { \
                int32_t sum[2]; \
                if (block == 3) { \
                    mote_gemm4x3_sums(x + i / 2, depth, w + place, 3, q.bias, spill, sum); \
                } else { \
                    mote_gemm4x3_sums(x + i / 2, depth, w + place, 2, q.bias, spill, sum); \
                } \
                out[i * g->pixel + c] = byte(sum[0], q, lo, hi); \
                if (i + 1 < n) { \
                    out[(i + 1) * g->pixel + c] = byte(sum[1], q, lo, hi); \
                } \
            } \
            spill += 1 + 2 * spill[0]; \
            place++; \
            if (place == block) { \
                place = 0; \
                threes--; \
                w += block * depth; \
            } \
        } \
    }

#endif

typedef struct {
    int32_t in_channels;
    mote_gemm4x3_t gemm;
} mote_pointwise4x3_t;

typedef struct {
    mote_patch_t patch;
    mote_gemm4x3_t gemm;
} mote_conv4x3_t;

/* A row of the window under output column x: where it lies, or copied, with its padding. */
static inline const int8_t *mote_conv4x3_line(const mote_patch_t *p, const int8_t *row, int32_t x, int8_t *copy) {
    const mote_span_t *s = &p->cols;
    const int32_t c = p->in_channels, first = x * s->step - s->pad;
    if (row != NULL && s->spread == 1 && first >= 0 && first + s->taps <= s->in_size) {
        return row + first * c;
    }
    memset(copy, (int)p->in_zero, (size_t)(s->taps * c));
    for (int32_t t = 0, at = first; row != NULL && t < s->taps; t++, at += s->spread) {
        if (at >= 0 && at < s->in_size) {
            memcpy(copy + t * c, row + at * c, (size_t)c);
        }
    }
    return copy;
}

/* Two windows as words two apart: those under column xa of some rows and under column xb of others. */
MOTE_NOINLINE void mote_conv4x3_join(const mote_patch_t *p, const int8_t *const *a, int32_t xa, const int8_t *const *b,
                                     int32_t xb, uint32_t *to, int8_t *copy) {
    const int32_t line = p->cols.taps * p->in_channels;
    for (int32_t k = 0; k < p->rows.taps; k++, to += 2 * line) {
        const int8_t *first = mote_conv4x3_line(p, a[k], xa, copy);
        mote_lanes_join(first, mote_conv4x3_line(p, b[k], xb, copy + line), line, to);
    }
}

/* Where copies of rows of windows are. */
static inline int8_t *mote_conv4x3_copy(const mote_conv4x3_t *p, uint32_t *x) {
    return (int8_t *)(x + 2 * p->gemm.depth + MOTE_GEMM4X3_TAIL);
}

/* Kernels of a form, in which `byte` makes bytes of sums. */
#define MOTE_GEMM4X3(form, byte) \
    MOTE_GEMM4X3_ALL(form, byte) \
\
    /* A 1x1 convolution: each pixel is a vector of its own. Where pixels are missing others stand in for them. */ \
    typedef mote_pointwise4x3_t mote_pointwise4x3_##form##_t; \
    MOTE_UNUSED static inline void mote_pointwise4x3_##form(const mote_pointwise4x3_t *p, const int8_t *in, \
                                                            int8_t *out, int32_t pixels, mote_any_t scratch) { \
        const int32_t depth = p->in_channels, pixel = p->gemm.pixel; \
        uint32_t *const x = (uint32_t *)scratch; \
        for (; pixels > 0; pixels -= 4, in += 4 * depth, out += 4 * pixel) { \
            const int32_t n = mote_min(pixels, 4); \
            mote_lanes_join(in, in + (n > 1 ? depth : 0), depth, x); \
            if (n > 2) { \
                mote_lanes_join(in + 2 * depth, in + (n - 1) * depth, depth, x + 1); \
            } \
            mote_gemm4x3_##form(&p->gemm, x, out, n); \
        } \
    } \
\
    /* Any other convolution, one output row. */ \
    typedef mote_conv4x3_t mote_conv4x3_##form##_t; \
    MOTE_UNUSED static inline void mote_conv4x3_##form##_row(const mote_conv4x3_t *p, const int8_t *const *rows, \
                                                             int8_t *out, mote_any_t scratch) { \
        uint32_t *const x = (uint32_t *)scratch; \
        int8_t *const copy = mote_conv4x3_copy(p, x); \
        const int32_t width = p->patch.cols.out_size; \
        for (int32_t at = 0; at < width; at += 4, out += 4 * p->gemm.pixel) { \
            const int32_t n = mote_min(width - at, 4); \
            mote_conv4x3_join(&p->patch, rows, at, rows, at + (n > 1), x, copy); \
            if (n > 2) { \
                mote_conv4x3_join(&p->patch, rows, at + 2, rows, at + n - 1, x + 1, copy); \
            } \
            mote_gemm4x3_##form(&p->gemm, x, out, n); \
        } \
    } \
\
    /* Rows lo..hi-1, whose pixels lie one after another: four pixels may begin in one row and end in another. */ \
    MOTE_UNUSED static inline void mote_conv4x3_##form(const mote_conv4x3_t *p, const int8_t *in, int8_t *out, \
                                                       int32_t lo, int32_t hi, mote_any_t scratch) { \
        uint32_t *const x = (uint32_t *)scratch; \
        int8_t *const copy = mote_conv4x3_copy(p, x); \
        const int8_t *rows[2][MOTE_MAX_TAPS]; \
        const int32_t width = p->patch.cols.out_size; \
        int32_t waiting = 0, pair = 0, held = 0; /* pixels so far; of the first of two its column, its rows */ \
        out += lo * p->patch.rows.out_stride; \
        for (int32_t y = lo; y < hi; y++) { \
            const int32_t own = waiting % 2 != 0 ? 1 - held : held; \
            mote_window_s8(&p->patch.rows, in, y, rows[own]); \
            for (int32_t column = 0; column < width; column++) { \
                const int last = y == hi - 1 && column == width - 1; \
                if (waiting % 2 == 0) { \
                    pair = column; \
                    held = own; \
                } \
                if (waiting % 2 != 0 || last) { \
                    mote_conv4x3_join(&p->patch, rows[held], pair, rows[own], column, x + waiting / 2, copy); \
                } \
                waiting++; \
                if (waiting == 4 || last) { \
                    mote_gemm4x3_##form(&p->gemm, x, out, waiting); \
                    out += waiting * p->gemm.pixel; \
                    waiting = 0; \
                } \
            } \
        } \
    }

#endif
