/* mote_gemm16_s8.h: int8 convolutions and fully connected layers, four pixels and sixteen channels at a time, for RISC-V
 * with vectors of integers (Zve32x).
 *
 * The lanes of a vector are channels. Sixteen weights of an input are loaded as bytes and widened once for four pixels,
 * whose inputs are scalars: 49 instructions for 256 products. Sums become bytes in the vectors, too. Windows are read
 * where they lie, line by line, but for those that hang over a side of the image.
 *
 * Weights are in blocks of sixteen channels, the last one of those that are left: [inputs][channels of the block].
 */
#ifndef MOTE_GEMM16_S8_H
#define MOTE_GEMM16_S8_H

#include "mote_conv2d_s8.h"
#include "mote_rvv.h"

typedef struct {
    int32_t depth, channels, pixel; /* products in a sum, sums in a pixel, from one output pixel to the next */
    mote_rvv_output_t output;
    const int8_t *weights;
} mote_gemm16_t;

#if MOTE_RVV

/* a0: weights; inputs at t0 to t3. */
#define MOTE_GEMM16_STEP4(o) \
    "vle8.v v4, (a0)\n\tlb a4, " o "(t0)\n\tlb a5, " o "(t1)\n\tvsext.vf2 v6, v4\n\tadd a0, a0, a3\n\t" \
    "lb a6, " o "(t2)\n\tlb a7, " o "(t3)\n\tvwmacc.vx v8, a4, v6\n\tvwmacc.vx v12, a5, v6\n\t" \
    "vwmacc.vx v16, a6, v6\n\tvwmacc.vx v20, a7, v6\n\t"
#define MOTE_GEMM16_STEP1(o) \
    "vle8.v v4, (a0)\n\tlb a4, " o "(t0)\n\tadd a0, a0, a3\n\tvsext.vf2 v6, v4\n\tvwmacc.vx v8, a4, v6\n\t"
#define MOTE_GEMM16_LOADS4 "lw t1, 4(ra)\n\tlw t2, 8(ra)\n\tlw t3, 12(ra)\n\t"
#define MOTE_GEMM16_NEXT4(n) "addi t0, t0, " n "\n\taddi t1, t1, " n "\n\taddi t2, t2, " n "\n\taddi t3, t3, " n "\n\t"
#define MOTE_GEMM16_NEXT1(n) "addi t0, t0, " n "\n\t"

/* ra: the list; t4: where the fours of a line end, t5: all of it. */
#define MOTE_GEMM16_RUN(copy, loads, step, next, finish) \
    __asm__ volatile(MOTE_RVV_OPEN copy MOTE_RVV_16 "mv ra, %1\n" \
                     "9:\n\tlw t0, 0(ra)\n\t" loads "addi ra, ra, 16\n\tadd t5, t0, %6\n\t" \
                     "andi t4, %6, -4\n\tadd t4, t0, t4\n\tbeq t0, t4, 4f\n" \
                     "3:\n\t" step("0") step("1") step("2") step("3") next("4") "bne t0, t4, 3b\n" \
                     "4:\n\tbeq t0, t5, 8f\n" \
                     "7:\n\t" step("0") next("1") "bne t0, t5, 7b\n" \
                     "8:\n\tbne ra, %2, 9b\n\t" finish MOTE_RVV_CLOSE \
                     : \
                     : "r"(to), "r"(list), "r"(list + 4 * lines), "r"(&g->output), "r"(g->weights), "r"(g->channels), \
                       "r"(inputs) \
                     : MOTE_RVV_CLOBBERS)

/* Inputs are in `lines` of so many `inputs`: a list has where each begins for four pixels, of which n are computed. */
MOTE_NOINLINE void mote_gemm16(const mote_gemm16_t *g, const int8_t *const *list, int32_t lines, int32_t inputs,
                               int8_t *out, int32_t n) {
    int8_t *to[4];
    mote_rvv_places(to, out, g->pixel, n);
    if (n > 1) {
        MOTE_GEMM16_RUN(MOTE_RVV_COPY, MOTE_GEMM16_LOADS4, MOTE_GEMM16_STEP4, MOTE_GEMM16_NEXT4, MOTE_RVV_FINISH4);
    } else {
        MOTE_GEMM16_RUN("", "", MOTE_GEMM16_STEP1, MOTE_GEMM16_NEXT1, MOTE_RVV_FINISH1);
    }
}

#else

MOTE_NOINLINE void mote_gemm16(const mote_gemm16_t *g, const int8_t *const *list, int32_t lines, int32_t inputs,
                               int8_t *out, int32_t n) {
    const int8_t *w = g->weights;
    const int32_t *channel = g->output.channel;
    for (int32_t first = 0; first < g->channels; first += MOTE_RVV_LANES) {
        const int32_t lanes = mote_min(g->channels - first, MOTE_RVV_LANES);
        for (int32_t i = 0; i < n; i++) {
            for (int32_t c = 0; c < lanes; c++) {
                int32_t sum = channel[c];
                for (int32_t k = 0; k < lines * inputs; k++) {
                    sum = MOTE_PLUS(sum, list[k / inputs * 4 + i][k % inputs] * w[k * lanes + c]);
                }
                out[i * g->pixel + first + c] = mote_rvv_byte(sum, channel, c, lanes, &g->output);
            }
        }
        w += lines * inputs * lanes;
        channel += 3 * lanes;
    }
}

#endif

typedef struct {
    mote_gemm16_t gemm;
} mote_pointwise16_s8_t;

typedef struct {
    mote_patch_t patch;
    mote_gemm16_t gemm;
} mote_conv16_s8_t;

/* Vectors of a fully connected layer, or pixels of a 1x1 convolution. */
MOTE_UNUSED static inline void mote_pointwise16_s8(const mote_pointwise16_s8_t *p, const int8_t *in, int8_t *out,
                                                   int32_t pixels) {
    const int32_t depth = p->gemm.depth;
    for (; pixels > 0; pixels -= 4, in += 4 * depth, out += 4 * p->gemm.pixel) {
        const int32_t n = mote_min(pixels, 4);
        const int8_t *x[4];
        for (int32_t i = 0; i < 4; i++) {
            x[i] = in + mote_min(i, n - 1) * depth;
        }
        mote_gemm16(&p->gemm, x, 1, depth, out, n);
    }
}

typedef mote_pointwise16_s8_t mote_fully_connected16_s8_t;
MOTE_UNUSED static inline void mote_fully_connected16_s8(const mote_fully_connected16_s8_t *p, const int8_t *in,
                                                         int8_t *out, int32_t vectors) {
    mote_pointwise16_s8(p, in, out, vectors);
}

/* A copy of a row of the window under output column x, with its padding. */
static inline void mote_conv16_copy(const mote_patch_t *p, const int8_t *row, int32_t x, int8_t *copy) {
    const mote_span_t *s = &p->cols;
    const int32_t c = p->in_channels, first = x * s->step - s->pad;
    const int32_t lo = mote_span_lo(s, first), hi = mote_span_hi(s, first);
    memset(copy, (int)p->in_zero, (size_t)(s->taps * c));
    if (s->spread == 1) {
        if (hi > lo) {
            memcpy(copy + lo * c, row + (first + lo) * c, (size_t)((hi - lo) * c));
        }
        return;
    }
    for (int32_t t = lo; t < hi; t++) {
        memcpy(copy + t * c, row + (first + t * s->spread) * c, (size_t)c);
    }
}

/* Any other convolution, one output row. `scratch` has the list, a line of the input's zero point, which rows outside of the
 * image are, then copies of four windows. */
MOTE_UNUSED static inline void mote_conv16_s8_row(const mote_conv16_s8_t *p, const int8_t *const *rows, int8_t *out,
                                                  mote_any_t scratch) {
    const mote_span_t *const s = &p->patch.cols;
    const int32_t taps = p->patch.rows.taps, c = p->patch.in_channels, line = s->taps * c;
    const int8_t **const list = (const int8_t **)scratch;
    int8_t *const outside = (int8_t *)(list + 4 * taps);
    memset(outside, (int)p->patch.in_zero, (size_t)line);
    for (int32_t x = 0; x < s->out_size; x += 4, out += 4 * p->gemm.pixel) {
        const int32_t n = mote_min(s->out_size - x, 4);
        int8_t *copy = outside + line;
        for (int32_t i = 0; i < (n > 1 ? 4 : 1); i++) {
            const int32_t column = x + mote_min(i, n - 1), first = column * s->step - s->pad;
            const int inside = s->spread == 1 && first >= 0 && first + s->taps <= s->in_size;
            const int8_t **to = list + i;
            for (int32_t k = 0; k < taps; k++, to += 4) {
                if (rows[k] == NULL) {
                    *to = outside;
                } else if (inside) {
                    *to = rows[k] + first * c;
                } else {
                    mote_conv16_copy(&p->patch, rows[k], column, copy);
                    *to = copy;
                    copy += line;
                }
            }
        }
        mote_gemm16(&p->gemm, list, taps, line, out, n);
    }
}

MOTE_UNUSED static inline void mote_conv16_s8(const mote_conv16_s8_t *p, const int8_t *in, int8_t *out, int32_t lo,
                                              int32_t hi, mote_any_t scratch) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->patch.rows, in, y, rows);
        mote_conv16_s8_row(p, rows, out + y * p->patch.rows.out_stride, scratch);
    }
}

#endif
