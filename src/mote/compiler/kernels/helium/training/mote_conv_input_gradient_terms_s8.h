/* mote_conv_input_gradient_terms_s8.h: mote_conv_input_gradient_s8, whose parameters it has, by the terms of
 * mote_term_sums.h: weights are read where they lie. */
#ifndef MOTE_CONV_INPUT_GRADIENT_TERMS_S8_H
#define MOTE_CONV_INPUT_GRADIENT_TERMS_S8_H

#include "mote_input_gradients_s8.h"
#include "mote_term_sums.h"

typedef mote_conv_input_gradient_s8_t mote_conv_input_gradient_terms_s8_t;

/* The rows of sums that a row of the gradient adds to. */
static inline int32_t mote_input_terms_rows(const mote_input_gradient_t *of) {
    return (of->rows.taps - 1) * of->rows.spread + 1;
}

#if MOTE_HELIUM
/* So many sums, in fours, as bytes, where they are shifted to the right; sums are zero then. */
__attribute__((naked, noinline, unused)) static void mote_input_terms_bytes(int32_t *sums __attribute__((unused)),
                                                                            int32_t count __attribute__((unused)),
                                                                            int32_t mult __attribute__((unused)),
                                                                            int32_t left __attribute__((unused)),
                                                                            int8_t *out __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldr r4, [sp, #8]\n\t"
                     "mov r12, #127\n\t"
                     "vdup.32 q2, r12\n\t"
                     "vneg.s32 q3, q2\n\t"
                     "vpush {d8-d9}\n\t"
                     "vmov.i32 q4, #0\n\t"
                     "wlstp.32 lr, r1, 2f\n"
                     "1:\n\t"
                     "vldrw.u32 q0, [r0]\n\t"
                     "vshr.s32 q1, q0, #31\n\t"
                     "vqrdmlah.s32 q1, q0, r2\n\t"
                     "vstrw.32 q4, [r0], #16\n\t"
                     "vrshl.s32 q1, r3\n\t"
                     "vmin.s32 q1, q1, q2\n\t"
                     "vmax.s32 q1, q1, q3\n\t"
                     "vstrb.32 q1, [r4], #4\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "vpop {d8-d9}\n\t"
                     "pop {r4, pc}\n\t");
}
#endif

/* A row of sums as the image's gradient; they are zero then. */
static inline void mote_input_terms_row(const mote_conv_input_gradient_s8_t *p, int32_t *sums, int32_t count,
                                        int8_t *out) {
#if MOTE_HELIUM
    if (p->shift >= 0 && p->mult > 0) {
        mote_input_terms_bytes(sums, count, p->mult, -1 - p->shift, out);
        return;
    }
#endif
    for (int32_t i = 0; i < count; i++) {
        out[i] = mote_clamp(mote_rescale(sums[i], p->mult, p->shift), -127, 127);
        sums[i] = 0;
    }
}

/* The terms of a pixel of the gradient, by the places of output channels among the weights; how many there are. */
static inline int32_t mote_input_terms_of(const mote_conv_input_gradient_s8_t *p, const int8_t *gradient, int32_t next,
                                          mote_vector_term_t *terms) {
    int32_t count = 0;
    for (int32_t o = 0, at = 0; o < p->of.outputs; o++, at += next) {
        const int32_t by = (gradient[o] * (int32_t)p->factor[o] + ((int32_t)1 << 10)) >> 11;
        if (by != 0) {
            terms[count].at = at;
            terms[count++].by = by;
        }
    }
    return count;
}

/* Adds what a pixel of the gradient gives to the sums of the pixels that its window has. */
MOTE_NOINLINE MOTE_HOT void mote_input_terms_pixel(const mote_conv_input_gradient_s8_t *p, const int8_t *gradient,
                                                   const int8_t *weights, int32_t y, int32_t x, int32_t *sums,
                                                   mote_vector_term_t *terms) {
    const mote_input_gradient_t *const of = &p->of;
    const int32_t rows = mote_input_terms_rows(of), taps = of->rows.taps * of->cols.taps;
    const int32_t count = mote_input_terms_of(p, gradient, taps * of->channels, terms);
    for (int32_t ky = 0; ky < of->rows.taps && count > 0; ky++) {
        const int32_t row = mote_gradient_input(&of->rows, y, ky);
        for (int32_t kx = 0; kx < of->cols.taps && row >= 0; kx++) {
            const int32_t column = mote_gradient_input(&of->cols, x, kx);
            if (column >= 0) {
                const int8_t *const base = weights + (ky * of->cols.taps + kx) * of->channels;
                int32_t *const to = sums + (row % rows * of->cols.in + column) * of->channels;
                mote_term_sums(terms, count, base, of->channels, to);
            }
        }
    }
}

/* Working memory: sums of rows of the image, and the terms of a pixel. */
static inline void mote_conv_input_gradient_terms_s8(const mote_conv_input_gradient_terms_s8_t *p, const int8_t *gradient,
                                                     const int8_t *weights, int8_t *out, void *scratch) {
    const mote_input_gradient_t *const of = &p->of;
    const int32_t rows = mote_input_terms_rows(of), line = of->cols.in * of->channels;
    int32_t *const sums = (int32_t *)scratch;
    mote_vector_term_t *const terms = (mote_vector_term_t *)(void *)(sums + rows * line);
    int32_t row = 0;
    mote_term_fill(sums, 0, rows * line);
    for (int32_t y = 0; y <= of->rows.out; y++) {
        const int32_t first = y * of->rows.stride - of->rows.pad; /* rows before are complete */
        for (; row < of->rows.in && (row < first || y == of->rows.out); row++) {
            mote_input_terms_row(p, sums + row % rows * line, line, out + row * line);
        }
        for (int32_t x = 0; x < of->cols.out && y < of->rows.out; x++, gradient += of->outputs) {
            mote_input_terms_pixel(p, gradient, weights, y, x, sums, terms);
        }
    }
}

#endif
