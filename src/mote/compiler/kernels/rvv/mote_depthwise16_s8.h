/* mote_depthwise16_s8.h: int8 depthwise convolution, four pixels and sixteen channels at a time, for RISC-V with vectors of
 * integers (Zve32x).
 *
 * The lanes of a vector are channels. A list has the places of the inputs under each tap of four pixels; where the window is
 * outside of the image they are a vector of the input's zero point, which is folded into the biases. 25 instructions for
 * 64 products.
 *
 * Weights are in blocks of sixteen channels, the last one of those that are left: [taps][channels of the block].
 */
#ifndef MOTE_DEPTHWISE16_S8_H
#define MOTE_DEPTHWISE16_S8_H

#include "mote_rvv.h"

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t channels, in_zero;
    mote_rvv_output_t output;
    const int8_t *weights;
} mote_depthwise16_s8_t;

#if MOTE_RVV

/* a0: weights, t0: the list, t2: the channels done. */
#define MOTE_DEPTHWISE16_PIXEL(o, sum) \
    "lw a4, " o "(t0)\n\tadd a4, a4, t2\n\tvle8.v v4, (a4)\n\tvsext.vf2 v2, v4\n\tvwmacc.vv " sum ", v2, v6\n\t"
#define MOTE_DEPTHWISE16_PIXELS4 \
    MOTE_DEPTHWISE16_PIXEL("0", "v8") MOTE_DEPTHWISE16_PIXEL("4", "v12") MOTE_DEPTHWISE16_PIXEL("8", "v16") \
        MOTE_DEPTHWISE16_PIXEL("12", "v20")
#define MOTE_DEPTHWISE16_RUN(copy, pixels, finish) \
    __asm__ volatile("li t2, 0\n\t" MOTE_RVV_OPEN copy MOTE_RVV_16 "mv t0, %1\n" \
                     "3:\n\tvle8.v v5, (a0)\n\tadd a0, a0, a3\n\tvsext.vf2 v6, v5\n\t" pixels \
                     "addi t0, t0, 16\n\tbne t0, %2, 3b\n\tadd t2, t2, a3\n\t" finish MOTE_RVV_CLOSE \
                     : \
                     : "r"(to), "r"(list), "r"(list + 4 * taps), "r"(&p->output), "r"(p->weights), "r"(p->channels) \
                     : MOTE_RVV_CLOBBERS)

MOTE_NOINLINE void mote_depthwise16(const mote_depthwise16_s8_t *p, const int8_t *const *list, int8_t *out, int32_t n) {
    const int32_t taps = p->rows.taps * p->cols.taps;
    int8_t *to[4];
    mote_rvv_places(to, out, p->channels, n);
    if (n > 1) {
        MOTE_DEPTHWISE16_RUN(MOTE_RVV_COPY, MOTE_DEPTHWISE16_PIXELS4, MOTE_RVV_FINISH4);
    } else {
        MOTE_DEPTHWISE16_RUN("", MOTE_DEPTHWISE16_PIXEL("0", "v8"), MOTE_RVV_FINISH1);
    }
}

#else

MOTE_NOINLINE void mote_depthwise16(const mote_depthwise16_s8_t *p, const int8_t *const *list, int8_t *out, int32_t n) {
    const int32_t taps = p->rows.taps * p->cols.taps;
    const int8_t *w = p->weights;
    const int32_t *channel = p->output.channel;
    for (int32_t first = 0; first < p->channels; first += MOTE_RVV_LANES) {
        const int32_t lanes = mote_min(p->channels - first, MOTE_RVV_LANES);
        for (int32_t i = 0; i < n; i++) {
            for (int32_t c = 0; c < lanes; c++) {
                int32_t sum = channel[c];
                for (int32_t t = 0; t < taps; t++) {
                    sum = MOTE_PLUS(sum, list[4 * t + i][first + c] * w[t * lanes + c]);
                }
                out[i * p->channels + first + c] = mote_rvv_byte(sum, channel, c, lanes, &p->output);
            }
        }
        w += taps * lanes;
        channel += 3 * lanes;
    }
}

#endif

/* One output row. `scratch` has the list, then the vector for what is outside of the image. */
MOTE_UNUSED static inline void mote_depthwise16_s8_row(const mote_depthwise16_s8_t *p, const int8_t *const *rows,
                                                       int8_t *out, mote_any_t scratch) {
    const mote_span_t *s = &p->cols;
    const int32_t c = p->channels, taps = p->rows.taps * s->taps;
    const int8_t **const list = (const int8_t **)scratch;
    int8_t *const outside = (int8_t *)(list + 4 * taps);
    memset(outside, (int)p->in_zero, (size_t)c);
    for (int32_t x = 0; x < s->out_size; x += 4, out += 4 * c) {
        const int32_t n = mote_min(s->out_size - x, 4);
        for (int32_t i = 0; i < (n > 1 ? 4 : 1); i++) {
            const int32_t first = (x + mote_min(i, n - 1)) * s->step - s->pad;
            const int8_t **to = list + i;
            for (int32_t k = 0; k < p->rows.taps; k++) {
                for (int32_t t = 0, at = first; t < s->taps; t++, at += s->spread, to += 4) {
                    *to = rows[k] != NULL && at >= 0 && at < s->in_size ? rows[k] + at * c : outside;
                }
            }
        }
        mote_depthwise16(p, list, out, n);
    }
}

MOTE_UNUSED static inline void mote_depthwise16_s8(const mote_depthwise16_s8_t *p, const int8_t *in, int8_t *out,
                                                   int32_t lo, int32_t hi, mote_any_t scratch) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        mote_depthwise16_s8_row(p, rows, out + y * p->rows.out_stride, scratch);
    }
}

#endif
