/* mote_planar_s8.h: what depthwise kernels over planar rows share.
 *
 * A planar row is [channel][line] bytes. Position i of a line holds padded column i; bytes outside of the image are 0.
 * Bytes are unsigned, value + 128, and the zero point is -128, so that zero bytes are zeros: rows outside of the image
 * (NULL) are left out. A line is a multiple of four bytes, and every four positions lie in the order 0, 2, 1, 3:
 * UXTB16 gives positions 0 and 1 as 16-bit halves, and UXTB16 with a rotation by 8 gives 2 and 3.
 *
 * A channel's record is its bias, then for each row of the window the weights two to a word, each next to its
 * neighbour (w0, w1), (w1, w2), .., then the constants that turn a sum into a byte: see the compiler's pack/narrow.py.
 * Words of weights overlap because an even output's products begin with w0 * x0 + w1 * x1, an odd one's with w0 * x1.
 * Weights are scaled by a power of two. Where they are to take less flash, a word holds two of these words in 8 bits,
 * the first in bytes 0 and 2, the second in bytes 1 and 3, and weights are scaled by 256.
 * The output is NHWC.
 */
#ifndef MOTE_PLANAR_S8_H
#define MOTE_PLANAR_S8_H

#include "mote_narrow_s8.h"

typedef struct {
    const int32_t *records;
    int32_t channels;
    int32_t wide;          /* output bytes of a row that blocks of four outputs make, */
    int32_t skip, columns; /* bytes of a line that they leave over, and that they have used */
    int32_t outputs;       /* in a row */
    mote_window_t rows;
} mote_planar_t;

/* With biases apart from the records, where they are learned: code for weights b8, which are w8, reads them there. */
typedef struct {
    mote_planar_t planar;
    const int32_t *biases;
} mote_planar_apart_t;

typedef void mote_planar_row_t(const mote_planar_t *p, const int8_t *const *rows, int8_t *out);

/* Output rows lo..hi-1 of tensors whose rows lie one after another. */
MOTE_ALWAYS_INLINE void mote_planar_rows(const mote_planar_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi,
                                         mote_planar_row_t *row) {
    const int8_t *rows[MOTE_MAX_TAPS];
    for (int32_t y = lo; y < hi; y++) {
        mote_window_s8(&p->rows, in, y, rows);
        row(p, rows, out + y * p->rows.out_stride);
    }
}

/* A kernel with biases apart, of code that reads them. */
#define MOTE_PLANAR_APART(id, code) \
    typedef mote_planar_apart_t mote_##id##_t; \
    MOTE_UNUSED static inline void mote_##id(const mote_planar_apart_t *p, const int8_t *in, int8_t *out, int32_t lo, \
                                             int32_t hi) { \
        mote_##code(&p->planar, in, out, lo, hi); \
    }
#define MOTE_PLANAR_APART_ROW(id, code) \
    MOTE_UNUSED static inline void mote_##id##_row(const mote_planar_apart_t *p, const int8_t *const *rows, int8_t *out) { \
        mote_##code##_row(&p->planar, rows, out); \
    }
#define MOTE_PLANAR_APART_ROWS(id, code) \
    MOTE_UNUSED static inline void mote_##id##_rows(const mote_planar_apart_t *p, const int8_t *const *rows, \
                                                    int8_t *const *outs, int32_t count) { \
        mote_##code##_rows(&p->planar, rows, outs, count); \
    }

#if MOTE_DSP
#define MOTE_PLANAR_BIASES "56" /* where these lie in mote_planar_apart_t */

/* A function of its own registers. */
#define MOTE_PLANAR_ASM(name, ...) \
    __attribute__((naked, noinline, unused)) static void name( \
        const mote_planar_t *p __attribute__((unused)), const int8_t *const *rows __attribute__((unused)), \
        int8_t *out __attribute__((unused)), int32_t first __attribute__((unused))) { \
        __asm__ volatile(__VA_ARGS__); \
    }

/* A sum times r10, plus r11; linear: plus r12 too where the sum is not negative. */
#define MOTE_PLANAR_SCALE_relu(sum) "smmla " sum ", " sum ", r10, r11\n\t"
#define MOTE_PLANAR_SCALE_linear(sum) \
    "bic lr, r12, " sum ", asr #31\n\t" \
    "add lr, lr, r11\n\t" \
    "smmla " sum ", " sum ", r10, lr\n\t"
#define MOTE_PLANAR_BYTE(sum, s) "ssat " sum ", #8, " sum ", asr #" s "\n\t"
#else
enum { mote_planar_w16, mote_planar_w8, mote_planar_b8, mote_planar_s1 = 1, mote_planar_s2, mote_planar_relu = 0, mote_planar_linear };

/* Position i of a line. */
static inline int32_t mote_planar_at(const int8_t *line, int32_t i) {
    return (uint8_t)line[(i & ~3) | (i & 1) << 1 | (i >> 1 & 1)];
}

/* The first or second half of word i of weights in 16 bits or in 8 bits. */
static inline int32_t mote_planar_half(const int32_t *w, int32_t i, int32_t second, int32_t w8) {
    if (w8) {
        return 256 * (int8_t)(uint8_t)((uint32_t)w[i / 2] >> (16 * second + 8 * (i % 2)));
    }
    return (int16_t)(uint16_t)((uint32_t)w[i] >> 16 * second);
}

/* Weight j of a row whose words overlap. */
static inline int32_t mote_planar_weight(const int32_t *w, int32_t j, int32_t w8) {
    return j == 0 ? mote_planar_half(w, 0, 0, w8) : mote_planar_half(w, j - 1, 1, w8);
}

/* Output x of channel c, for windows three wide; q: its record. */
static inline int8_t mote_planar_output(const mote_planar_t *p, const int8_t *const *rows, const int32_t *q, int32_t c,
                                        int32_t x, int32_t w8, int32_t step, int32_t linear, int32_t s) {
    const int32_t line = p->columns + p->skip, words = w8 ? 1 : 2;
    const int32_t *w = q + 1;
    int32_t sum = w8 == mote_planar_b8 ? ((const mote_planar_apart_t *)(const void *)p)->biases[c] : q[0];
    for (int32_t k = 0; k < 3; k++, w += words) {
        for (int32_t j = 0; rows[k] != NULL && j < 3; j++) {
            if (x * step + j < line) {
                const int32_t value = mote_planar_at(rows[k] + c * line, x * step + j);
                sum = mote_wrapping_add(sum, value * mote_planar_weight(w, j, w8));
            }
        }
    }
    return mote_narrow(sum, w, linear, s);
}

/* Words of a record. */
static inline int32_t mote_planar_record(int32_t w8, int32_t linear) { return 3 + linear + 3 * (w8 ? 1 : 2); }

/* What the assembly does for windows three wide. */
static inline void mote_planar_row(const mote_planar_t *p, const int8_t *const *rows, int8_t *out, int32_t w8,
                                   int32_t step, int32_t linear, int32_t s) {
    const int32_t *q = p->records;
    for (int32_t c = 0; c < p->channels; c++, q += mote_planar_record(w8, linear)) {
        for (int32_t x = 0; x < p->outputs; x++) {
            out[x * p->channels + c] = mote_planar_output(p, rows, q, c, x, w8, step, linear, s);
        }
    }
}
#endif

#endif
