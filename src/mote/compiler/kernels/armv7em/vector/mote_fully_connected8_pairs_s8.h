/* mote_fully_connected8_pairs_s8.h: int8 fully connected layers, eight outputs at a time, for cores with DSP
 * instructions.
 *
 * Weights are the pairs of mote_fully_connected4_s8.h, w0 + 256 * w1 in 16 bits, no larger than the model's. Eight
 * outputs lie one after another: where their sums begin, then words of two weights of each of their four pairs in turn.
 * The depth is padded with zeros to a multiple of four, outputs to a multiple of eight. The code comes from the compiler
 * (armv7em/vector/vector_assembly.py), for so many inputs, a shift and a form of outputs:
 *
 *   once             all outputs have the same multiplier: a sum times it, plus what rounds and the output's zero point,
 *                    then the shift.
 *   relu, linear     each has its own (mote_narrow_s8.h) for 256 times its sum. They come behind the weights, pair by
 *                    pair: what is added to the first sum, times 256, its constants, those of the second sum.
 */
#ifndef MOTE_FULLY_CONNECTED8_PAIRS_S8_H
#define MOTE_FULLY_CONNECTED8_PAIRS_S8_H

#include "mote_fully_connected4_s8.h"

/* Some eights of outputs of one vector. */
typedef struct {
    const int32_t *weights;
    const uint32_t *x; /* inputs, two to a word */
    int8_t *out;
    const int8_t *stop; /* the end of out */
    int32_t mult;   /* once */
    int32_t add[2]; /* once: for the first and the second output of a pair */
} mote_fc8_pairs_run_t;

typedef struct {
    int32_t inputs, channels;
    int32_t rest; /* where the weights of the last outputs are, if they are fewer than eight */
    int32_t mult, first, second; /* once; else 0 */
    const int32_t *weights;
} mote_fully_connected8_pairs_t;

typedef void mote_fc8_pairs_outputs_t(const mote_fc8_pairs_run_t *run);

#if MOTE_DSP
#define MOTE_FC8_PAIRS_CODE(id, steps, shift, form, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_fc8_pairs_##id( \
        const mote_fc8_pairs_run_t *run __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#else
/* What the assembly does. */
enum { mote_fc8_once, mote_fc8_relu, mote_fc8_linear };

static inline void mote_fc8_pairs_c(const mote_fc8_pairs_run_t *run, int32_t steps, int32_t shift, int32_t form) {
    const int32_t *w = run->weights;
    for (int8_t *out = run->out; out < run->stop; out += 8) {
        uint32_t sum[8];
        for (int32_t i = 0; i < 8; i++) {
            sum[i] = (uint32_t)*w++;
        }
        for (int32_t k = 0; k < 2 * steps; k++) {
            for (int32_t i = 0; i < 8; i += 2, w++) {
                for (int32_t half = 0; half < 2; half++) {
                    const int32_t x = mote_fc4_half(run->x[k], half), both = mote_fc4_half((uint32_t)*w, half);
                    sum[i] += (uint32_t)(x * (int8_t)(both & 0xff));
                    sum[i + 1] += (uint32_t)(x * both);
                }
            }
        }
        for (int32_t i = 0; i < 8; i++) {
            const int32_t odd = i % 2, y = (int32_t)(odd ? sum[i] - sum[i - 1] : sum[i]);
            if (form != mote_fc8_once) {
                const int32_t all = odd ? y : (int32_t)((sum[i] << 8) + (uint32_t)*w++);
                out[i] = mote_narrow(all, w, form == mote_fc8_linear, shift);
                w += form == mote_fc8_linear ? 3 : 2;
                continue;
            }
            const int32_t scaled = (int32_t)((int64_t)y * run->mult >> 32) + run->add[odd];
            out[i] = mote_clamp(scaled >> (shift + 8 * odd), -128, 127);
        }
    }
}

#define MOTE_FC8_PAIRS_CODE(id, steps, shift, form, text) \
    MOTE_UNUSED static inline void mote_fc8_pairs_##id(const mote_fc8_pairs_run_t *run) { \
        mote_fc8_pairs_c(run, steps, shift, mote_fc8_##form); \
    }
#endif

/* Scratch: two bytes for each input, padded. */
MOTE_ALWAYS_INLINE void mote_fully_connected8_pairs(const mote_fully_connected8_pairs_t *p,
                                                    mote_fc8_pairs_outputs_t *outputs, const int8_t *in, int8_t *out,
                                                    int32_t vectors, uint32_t *scratch) {
    const int32_t rest = p->channels & 7, whole = p->channels - rest;
    mote_fc8_pairs_run_t run;
    run.x = scratch;
    run.mult = p->mult;
    run.add[0] = p->first;
    run.add[1] = p->second;
    for (; vectors > 0; vectors--, in += p->inputs, out += p->channels) {
        (void)mote_fc4_widen(in, p->inputs, scratch);
        if (whole > 0) {
            run.weights = p->weights;
            run.out = out;
            run.stop = out + whole;
            outputs(&run);
        }
        if (rest > 0) {
            int8_t eight[8];
            run.weights = p->weights + p->rest;
            run.out = eight;
            run.stop = eight + 8;
            outputs(&run);
            memcpy(out + whole, eight, (size_t)rest);
        }
    }
}

/* What a model instantiates: the code (MOTE_FC8_PAIRS_CODE), and the kernel of it. */
#define MOTE_FULLY_CONNECTED8_PAIRS(id) \
    typedef mote_fully_connected8_pairs_t mote_fully_connected8_pairs_##id##_t; \
    MOTE_NOINLINE void mote_fully_connected8_pairs_##id(const mote_fully_connected8_pairs_t *p, const int8_t *in, \
                                                        int8_t *out, int32_t vectors, uint32_t *scratch) { \
        mote_fully_connected8_pairs(p, mote_fc8_pairs_##id, in, out, vectors, scratch); \
    }

#endif
