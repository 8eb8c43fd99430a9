/* mote_fully_connected6_pairs_s8.h: int8 fully connected layers, six outputs at a time, for cores with DSP instructions.
 *
 * Weights are the pairs of mote_fully_connected4_s8.h, w + 256 * v in 16 bits, no larger than the model's. A whole word
 * multiplied by inputs is added to the sum of both outputs, d + 256 * e. For d alone two inputs take one multiplication,
 *
 *   (x0 + w1) * (x1 + w0) = x0 * w0 + x1 * w1 + x0 * x1 + w0 * w1
 *
 * where extending a byte and adding an input to it are one instruction, SXTAB16. All w0 * w1 are part of where the sum
 * begins, or of a constant that is added to it; the sum of all x0 * x1 is the same for all outputs, and computed once. All of that is modulo 2^32.
 *
 * Inputs are extended to 16 bits as they are read, or before, in working memory (`roomy`).
 *
 * Six outputs lie one after another: where their sums begin (those of both outputs of a pair, where these have constants
 * of their own), then for every four inputs two words of each pair of
 * outputs, (0, 2) and (1, 3), then constants. The depth is padded with zeros to a multiple of four; of the last outputs
 * there are one to three pairs. The code comes from the compiler (armv7em/vector/vector6_assembly.py), for so many inputs
 * and pairs, a shift and a form of outputs, those of mote_fully_connected8_pairs_s8.h.
 */
#ifndef MOTE_FULLY_CONNECTED6_PAIRS_S8_H
#define MOTE_FULLY_CONNECTED6_PAIRS_S8_H

#include "mote_fully_connected4_s8.h"

/* Some groups of outputs of one vector. */
typedef struct {
    const int32_t *weights;
    const void *x; /* inputs, as they are or two to a word */
    int8_t *out;
    const int8_t *stop; /* the end of out */
    int32_t mult;       /* once */
    int32_t add[2];     /* once: for the first and the second output of a pair */
    uint32_t products;  /* the negative sum of those of inputs with one another */
} mote_fc6_pairs_run_t;

typedef struct {
    int32_t inputs, channels;
    int32_t mult, first, second; /* once; else 0 */
    const int32_t *weights;
} mote_fully_connected6_pairs_t;

typedef void mote_fc6_pairs_outputs_t(const mote_fc6_pairs_run_t *run);

/* Words of a pair beside its weights, by their form: where sums begin, and constants. */
enum { MOTE_FC6_WORDS_once = 2, MOTE_FC6_WORDS_relu = 6, MOTE_FC6_WORDS_linear = 8 };
/* Words of six outputs. */
#define MOTE_FC6_GROUP(steps, form) (6 * (steps) + 3 * MOTE_FC6_WORDS_##form)

#if MOTE_DSP
#define MOTE_FC6_PAIRS_CODE(id, steps, pairs, shift, form, roomy, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static void mote_fc6_pairs_##id( \
        const mote_fc6_pairs_run_t *run __attribute__((unused))) { \
        __asm__ volatile(text); \
    }
#else
enum { mote_fc6_once, mote_fc6_relu, mote_fc6_linear };

/* Half `i` of an input's word and the low byte of that half of a weight's. */
static inline int32_t mote_fc6_both(uint32_t x, uint32_t w, int32_t i) {
    return mote_fc4_half(x, i) + (int8_t)(w >> 16 * i & 0xff);
}

/* What the assembly does. */
static inline void mote_fc6_pairs_c(const mote_fc6_pairs_run_t *run, int32_t steps, int32_t pairs, int32_t shift,
                                    int32_t form, int32_t roomy) {
    const int32_t *w = run->weights;
    for (int8_t *out = run->out; out < run->stop; out += 2 * pairs) {
        uint32_t sum[6] = {0, 0, 0, 0, 0, 0};
        for (int32_t i = 0; i < 2 * pairs; i++) {
            sum[i] = i % 2 ? 0 : run->products;
            sum[i] += i % 2 || form == mote_fc6_once ? (uint32_t)*w++ : 0;
        }
        for (int32_t k = 0; k < steps; k++) {
            uint32_t x[2];
            if (roomy) {
                memcpy(x, (const uint32_t *)run->x + 2 * k, sizeof x);
            } else {
                mote_fc4_widen4((const int8_t *)run->x + 4 * k, x);
            }
            const uint32_t a = x[0], b = x[1];
            for (int32_t i = 0; i < 2 * pairs; i += 2, w += 2) {
                const uint32_t u = (uint32_t)w[0], v = (uint32_t)w[1];
                for (int32_t half = 0; half < 2; half++) {
                    sum[i] += (uint32_t)(mote_fc6_both(b, u, half) * mote_fc6_both(a, v, half));
                    sum[i + 1] += (uint32_t)(mote_fc4_half(a, half) * mote_fc4_half(u, half));
                    sum[i + 1] += (uint32_t)(mote_fc4_half(b, half) * mote_fc4_half(v, half));
                }
            }
        }
        for (int32_t i = 0; i < 2 * pairs; i++) {
            const int32_t odd = i % 2, y = (int32_t)(odd ? sum[i] - sum[i - 1] : sum[i]);
            if (form != mote_fc6_once) {
                const int32_t all = odd ? y : (int32_t)((sum[i] << 8) + (uint32_t)*w++);
                out[i] = mote_narrow(all, w, form == mote_fc6_linear, shift);
                w += form == mote_fc6_linear ? 3 : 2;
                continue;
            }
            const int32_t scaled = (int32_t)((int64_t)y * run->mult >> 32) + run->add[odd];
            out[i] = mote_clamp(scaled >> (shift + 8 * odd), -128, 127);
        }
    }
}

#define MOTE_FC6_PAIRS_CODE(id, steps, pairs, shift, form, roomy, text) \
    MOTE_UNUSED static inline void mote_fc6_pairs_##id(const mote_fc6_pairs_run_t *run) { \
        mote_fc6_pairs_c(run, steps, pairs, shift, mote_fc6_##form, roomy); \
    }
#endif

/* The sum and the products of two words of inputs. */
static inline uint32_t mote_fc6_products(uint32_t sum, const uint32_t *x) {
#if MOTE_DSP
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(x[0]), "r"(x[1]));
    return sum;
#else
    return sum + (uint32_t)(mote_fc4_half(x[0], 0) * mote_fc4_half(x[1], 0)) +
           (uint32_t)(mote_fc4_half(x[0], 1) * mote_fc4_half(x[1], 1));
#endif
}

#if MOTE_DSP
/* `count` times sixteen inputs as words, which are stored by `keep`; gives the sum of all products of two words. */
#define MOTE_FC6_SIXTEENS(name, keep) \
    __attribute__((naked, noinline, unused)) static uint32_t name( \
        const int8_t *x __attribute__((unused)), uint32_t *to __attribute__((unused)), \
        int32_t count __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "movs r3, #0\n" \
                         "1:\n\t" \
                         "ldr r6, [r0, #4]\n\t" \
                         "ldr r8, [r0, #8]\n\t" \
                         "ldr r10, [r0, #12]\n\t" \
                         "ldr r4, [r0], #16\n\t" \
                         "sxtb16 r7, r6, ror #8\n\t" \
                         "sxtb16 r6, r6\n\t" \
                         "sxtb16 r9, r8, ror #8\n\t" \
                         "sxtb16 r8, r8\n\t" \
                         "sxtb16 r11, r10, ror #8\n\t" \
                         "sxtb16 r10, r10\n\t" \
                         "sxtb16 r5, r4, ror #8\n\t" \
                         "sxtb16 r4, r4\n\t" \
                         "smlad r3, r6, r7, r3\n\t" \
                         "smlad r3, r8, r9, r3\n\t" \
                         "smlad r3, r10, r11, r3\n\t" \
                         "smlad r3, r4, r5, r3\n\t" \
                         "subs r2, r2, #1\n\t" keep "bne 1b\n\t" \
                         "mov r0, r3\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }
MOTE_FC6_SIXTEENS(mote_fc6_sixteens, "")
MOTE_FC6_SIXTEENS(mote_fc6_sixteens_roomy, "stm r1!, {r4-r11}\n\t")
#endif

/* The sum of all products of two words of inputs. `roomy`: the words, zeros behind the last one of the last four, are
 * kept. */
MOTE_ALWAYS_INLINE uint32_t mote_fc6_inputs(const int8_t *x, int32_t inputs, uint32_t *to, int32_t roomy) {
    uint32_t sum = 0, words[2];
    int32_t i = 0;
#if MOTE_DSP
    const int32_t sixteens = inputs / 16;
    if (sixteens > 0) {
        sum = roomy ? mote_fc6_sixteens_roomy(x, to, sixteens) : mote_fc6_sixteens(x, to, sixteens);
        i = 16 * sixteens;
    }
#endif
    for (; i < inputs; i += 4) {
        if (inputs - i < 4) {
            int8_t last[4] = {0, 0, 0, 0};
            memcpy(last, x + i, (size_t)(inputs - i));
            mote_fc4_widen4(last, words);
        } else {
            mote_fc4_widen4(x + i, words);
        }
        sum = mote_fc6_products(sum, words);
        if (roomy) {
            memcpy(to + i / 2, words, sizeof words);
        }
    }
    return sum;
}

/* `group`: words of six outputs. */
MOTE_ALWAYS_INLINE void mote_fully_connected6_pairs(const mote_fully_connected6_pairs_t *p, int32_t group,
                                                    mote_fc6_pairs_outputs_t *outputs,
                                                    mote_fc6_pairs_outputs_t *last_outputs, const int8_t *in,
                                                    int8_t *out, int32_t vectors, uint32_t *scratch) {
    const int32_t sixes = p->channels / 6, rest = p->channels - 6 * sixes;
    mote_fc6_pairs_run_t run;
    run.mult = p->mult;
    run.add[0] = p->first;
    run.add[1] = p->second;
    for (; vectors > 0; vectors--, in += p->inputs, out += p->channels) {
        run.products = 0 - mote_fc6_inputs(in, p->inputs, scratch, scratch != NULL);
        run.x = scratch != NULL ? (const void *)scratch : in;
        run.weights = p->weights;
        run.out = out;
        run.stop = out + 6 * sixes;
        outputs(&run);
        if (rest > 0) {
            int8_t six[6];
            const int32_t even = rest + rest % 2;
            run.weights = p->weights + sixes * group;
            run.out = rest == even ? out + 6 * sixes : six;
            run.stop = run.out + even;
            last_outputs(&run);
            if (rest != even) {
                memcpy(out + 6 * sixes, six, (size_t)rest);
            }
        }
    }
}

/* What a model instantiates: the code (MOTE_FC6_PAIRS_CODE) for three pairs of outputs and for the last ones, and the
 * kernel of it. The inputs are a multiple of four. */
#define MOTE_FULLY_CONNECTED6_PAIRS(id, steps, form, code, last) \
    typedef mote_fully_connected6_pairs_t mote_fully_connected6_pairs_##id##_t; \
    MOTE_NOINLINE void mote_fully_connected6_pairs_##id(const mote_fully_connected6_pairs_t *p, const int8_t *in, \
                                                        int8_t *out, int32_t vectors) { \
        mote_fully_connected6_pairs(p, MOTE_FC6_GROUP(steps, form), mote_fc6_pairs_##code, mote_fc6_pairs_##last, in, \
                                    out, vectors, NULL); \
    }

/* Any number of inputs. Scratch: two bytes for each, padded. */
#define MOTE_FULLY_CONNECTED6_PAIRS_ROOMY(id, steps, form, code, last) \
    typedef mote_fully_connected6_pairs_t mote_fully_connected6_pairs_##id##_t; \
    MOTE_NOINLINE void mote_fully_connected6_pairs_##id(const mote_fully_connected6_pairs_t *p, const int8_t *in, \
                                                        int8_t *out, int32_t vectors, uint32_t *scratch) { \
        mote_fully_connected6_pairs(p, MOTE_FC6_GROUP(steps, form), mote_fc6_pairs_##code, mote_fc6_pairs_##last, in, \
                                    out, vectors, scratch); \
    }

#endif
