/* mote_fully_connected4_s8.h: int8 fully connected layers, four outputs at a time, for cores with DSP instructions.
 *
 * A step multiplies eight inputs, widened to 16 bits in four registers, with the weights of four outputs. Inputs are
 * widened as they are read, or once for all outputs where there is room for that (`_roomy`). Weights:
 *
 *   pairs     two outputs in 16 bits, w0 + 256 * w1: the whole gives d0 + 256 * d1, its low byte d0. No larger than the
 *             model's weights; 27 instructions for 32 products, 32 where the inputs are widened each time.
 *   wide      16 bits each, scaled: 21 instructions for 32 products, or 26. Sums become bytes by the constants of the
 *             compiler's pack/narrow.py, which come after the weights.
 *
 * Four outputs lie one after another: where their sums begin, then words of two weights in the order in which widening
 * gives the inputs, 0 and 2, 1 and 3 of each four, for each output (or pair) in turn. The depth is padded with zeros to
 * a multiple of eight.
 *
 * With `_sparse8` or `_sparse4` only blocks of that many inputs, widened once, are there whose weights are not zero for
 * all four outputs. A block begins with the distance of its inputs, in bytes, from the end of those of the block before
 * it. Blocks follow their inputs, but for the first one, which comes last: the one way back ends the sums. There are two
 * blocks at least. Two instructions more a block.
 *
 * LiteRT's reference rounds this layer's result once, TensorFlow Lite Micro twice, as both do for convolutions: one of
 * few pixels is a matrix times a vector too. Wide weights have constants for either; pairs have kernels for both (`_twice`).
 * Outputs are clamped to all of int8 only, shifts are to the right.
 */
#ifndef MOTE_FULLY_CONNECTED4_S8_H
#define MOTE_FULLY_CONNECTED4_S8_H

#include "mote_narrow_s8.h"

typedef struct {
    int32_t inputs, channels; /* of a vector */
    int32_t depth;            /* the inputs, padded */
    int32_t rest;             /* where the weights of the last outputs are, if they are fewer than four */
    int32_t zero;             /* pairs: twice the output's zero point and one more, which rounds */
    int32_t step;             /* pairs: scales of four outputs; none where all of them have the same */
    const int32_t *scale;     /* pairs: multiplier and shift of each output */
    const int32_t *weights;
} mote_fc4_t;

/* A vector that is the rows of a window, one after another: convolutions with one output in a row. */
typedef struct {
    mote_window_t rows;
    int32_t line; /* inputs of a row, each of which is padded to a multiple of four */
    mote_fc4_t vector;
} mote_fc4_rows_t;

/* Some fours of outputs of one vector. */
typedef struct {
    const int32_t *weights;
    const void *x;
    const int32_t *scale;
    int8_t *out;
    const void *end;    /* of x */
    const int8_t *stop; /* the end of out */
    int32_t step;       /* in bytes */
    int32_t zero;
    int32_t skip; /* steps that are missing to a multiple of four */
} mote_fc4_run_t;

#if MOTE_DSP
/* r0-r3: sums. r4-r7: inputs. r8 and r9: where inputs and weights come from. r10-r12 and lr: weights. */
#define MOTE_FC4_bytes \
    "ldr r4, [r8], #4\n\t" \
    "ldr r6, [r8], #4\n\t" \
    "sxtb16 r5, r4, ror #8\n\t" \
    "sxtb16 r4, r4\n\t" \
    "sxtb16 r7, r6, ror #8\n\t" \
    "sxtb16 r6, r6\n\t"

#define MOTE_FC4_widened "ldm r8!, {r4-r7}\n\t"

#define MOTE_FC4_PAIR(x, w, low, both) \
    "smlad " both ", " x ", " w ", " both "\n\t" \
    "sxtb16 " w ", " w "\n\t" \
    "smlad " low ", " x ", " w ", " low "\n\t"

#define MOTE_FC4_TWO_PAIRS(x, y) \
    MOTE_FC4_PAIR(x, "r10", "r0", "r1") MOTE_FC4_PAIR(x, "r11", "r2", "r3") MOTE_FC4_PAIR(y, "r12", "r0", "r1") \
        MOTE_FC4_PAIR(y, "lr", "r2", "r3")

#define MOTE_FC4_FOUR(x) \
    "smlad r0, " x ", r10, r0\n\t" \
    "smlad r1, " x ", r11, r1\n\t" \
    "smlad r2, " x ", r12, r2\n\t" \
    "smlad r3, " x ", lr, r3\n\t"

/* Four or eight inputs; the first weights are there. */
#define MOTE_FC4_LOAD "ldm r9!, {r10-r12, lr}\n\t"
#define MOTE_FC4_TIMES4_once MOTE_FC4_TWO_PAIRS("r4", "r5")
#define MOTE_FC4_TIMES4_twice MOTE_FC4_TIMES4_once
#define MOTE_FC4_TIMES4_relu MOTE_FC4_FOUR("r4") MOTE_FC4_LOAD MOTE_FC4_FOUR("r5")
#define MOTE_FC4_TIMES4_linear MOTE_FC4_TIMES4_relu
#define MOTE_FC4_TIMES8_once MOTE_FC4_TIMES4_once MOTE_FC4_LOAD MOTE_FC4_TWO_PAIRS("r6", "r7")
#define MOTE_FC4_TIMES8_twice MOTE_FC4_TIMES8_once
#define MOTE_FC4_TIMES8_relu MOTE_FC4_TIMES4_relu MOTE_FC4_LOAD MOTE_FC4_FOUR("r6") MOTE_FC4_LOAD MOTE_FC4_FOUR("r7")
#define MOTE_FC4_TIMES8_linear MOTE_FC4_TIMES8_relu

/* Four sums. Four steps to a loop, which begins with the step that makes it end with the last one: three instructions
 * for each loop. */
#define MOTE_FC4_DENSE(step) \
    "ldr r10, [sp, #28]\n\t" /* skip */ \
    "ldm r9!, {r0-r3}\n\t" \
    "tbb [pc, r10]\n" \
    "2:\n\t" \
    ".byte (3f - 2b) / 2, (4f - 2b) / 2, (5f - 2b) / 2, (6f - 2b) / 2\n" \
    "3:\n\t" step "4:\n\t" step "5:\n\t" step "6:\n\t" step \
    "ldr r10, [sp, #12]\n\t" /* end */ \
    "cmp r8, r10\n\t" \
    "bne 3b\n\t"
#define MOTE_FC4_SUMS_bytes(form) MOTE_FC4_DENSE(MOTE_FC4_bytes MOTE_FC4_LOAD MOTE_FC4_TIMES8_##form)
#define MOTE_FC4_SUMS_widened(form) MOTE_FC4_DENSE(MOTE_FC4_widened MOTE_FC4_LOAD MOTE_FC4_TIMES8_##form)

/* The same of blocks. r4 has the distance of the inputs before it has inputs; multiplying leaves the carry as it is. */
#define MOTE_FC4_SPARSE(inputs, times) \
    "ldm r9!, {r0-r3}\n" \
    "3:\n\t" \
    "ldm r9!, {r4, r10-r12, lr}\n\t" \
    "adds r8, r8, r4\n\t" inputs times "bcc 3b\n\t"
#define MOTE_FC4_SUMS_sparse8(form) MOTE_FC4_SPARSE(MOTE_FC4_widened, MOTE_FC4_TIMES8_##form)
#define MOTE_FC4_SUMS_sparse4(form) MOTE_FC4_SPARSE("ldm r8!, {r4, r5}\n\t", MOTE_FC4_TIMES4_##form)

/* What the second output of each pair is left with: 256 * d1, which rounding once takes as it is. */
#define MOTE_FC4_SPLIT \
    "sub r1, r1, r0\n\t" \
    "sub r3, r3, r2\n\t"

#define MOTE_FC4_ONCE(sum, mult, shift) \
    "smmul " sum ", " sum ", " mult "\n\t" \
    "asr " sum ", " sum ", " shift "\n\t" \
    "add " sum ", " sum ", lr\n\t" \
    "ssat " sum ", #8, " sum ", asr #1\n\t"

#define MOTE_FC4_SCALES(finish) \
    "ldr r8, [sp, #4]\n\t"   /* scale */ \
    "ldr r10, [sp, #20]\n\t" /* step */ \
    "ldr lr, [sp, #24]\n\t"  /* zero */ \
    "add r10, r8, r10\n\t" \
    "str r10, [sp, #4]\n\t" \
    "ldm r8!, {r4-r7}\n\t" finish("r0", "r4", "r5") finish("r1", "r6", "r7") \
    "ldm r8!, {r4-r7}\n\t" finish("r2", "r4", "r5") finish("r3", "r6", "r7")

#define MOTE_FC4_FINISH_once(s) MOTE_FC4_SPLIT MOTE_FC4_SCALES(MOTE_FC4_ONCE)
#define MOTE_FC4_SPLIT_twice \
    MOTE_FC4_SPLIT \
    "asr r1, r1, #8\n\t" \
    "asr r3, r3, #8\n\t"
#define MOTE_FC4_FINISH_twice(s) MOTE_FC4_SPLIT_twice MOTE_FC4_SCALES(MOTE_NARROW_TWICE)
#define MOTE_FC4_FINISH_relu(s) MOTE_NARROW_relu("r0", "r1", s) MOTE_NARROW_relu("r2", "r3", s)
#define MOTE_FC4_FINISH_linear(s) MOTE_NARROW_linear("r0", "r1", s) MOTE_NARROW_linear("r2", "r3", s)

/* The function for one kind of sums and one way to round. The run is kept on the stack, without the weights. Besides
 * the sums 23 (relu) to 48 (twice) instructions for four outputs. */
#define MOTE_FC4_RUN(name, sums, form, s) \
    MOTE_FC4_ASM(name, MOTE_FC4_SUMS_##sums(form), MOTE_FC4_FINISH_##form(MOTE_NARROW_STRING(s)))
#define MOTE_FC4_ASM(name, sums, finish) \
    __attribute__((naked, noinline, unused)) static void name(const mote_fc4_run_t *run __attribute__((unused))) { \
        __asm__ volatile("push {r4-r11, lr}\n\t" \
                         "ldm r0, {r0-r8}\n\t" \
                         "push {r1-r8}\n\t" \
                         "mov r9, r0\n" \
                         "1:\n\t" \
                         "ldr r8, [sp]\n\t" /* x */ \
                         sums finish \
                         "ldr r8, [sp, #8]\n\t"   /* out */ \
                         "ldr r10, [sp, #16]\n\t" /* stop */ \
                         "strb r0, [r8], #1\n\t" \
                         "strb r1, [r8], #1\n\t" \
                         "strb r2, [r8], #1\n\t" \
                         "strb r3, [r8], #1\n\t" \
                         "str r8, [sp, #8]\n\t" \
                         "cmp r8, r10\n\t" \
                         "bne 1b\n\t" \
                         "add sp, sp, #32\n\t" \
                         "pop {r4-r11, pc}\n\t"); \
    }
#else
enum { mote_fc4_bytes, mote_fc4_widened, mote_fc4_sparse4, mote_fc4_sparse8 };
enum { mote_fc4_once, mote_fc4_twice, mote_fc4_relu, mote_fc4_linear };
#define MOTE_FC4_RUN(name, sums, form, s) \
    MOTE_UNUSED static inline void name(const mote_fc4_run_t *run) { \
        mote_fc4_run(run, mote_fc4_##sums, mote_fc4_##form, s); \
    }

/* Half `i` of a word of two. */
static inline int32_t mote_fc4_half(uint32_t word, int32_t i) { return (int16_t)(word >> 16 * i & 0xffff); }

/* Input i of the two that a register would hold. */
static inline int32_t mote_fc4_input(const void *x, int32_t word, int32_t i, int32_t inputs) {
    if (inputs == mote_fc4_bytes) {
        return ((const int8_t *)x)[word / 2 * 4 + word % 2 + 2 * i];
    }
    return mote_fc4_half(((const uint32_t *)x)[word], i);
}

/* Words of inputs that are multiplied one after another. */
static inline int32_t mote_fc4_words(const mote_fc4_run_t *run, int32_t inputs) {
    const int32_t nbytes = (int32_t)((const int8_t *)run->end - (const int8_t *)run->x);
    const int32_t words[] = {nbytes / 2, nbytes / 4, 2, 4};
    return words[inputs];
}

static inline int8_t mote_fc4_finish_once(int32_t sum, const int32_t *scale, int32_t zero) {
    return mote_clamp((((int32_t)((int64_t)sum * scale[0] >> 32) >> scale[1]) + zero) >> 1, -128, 127);
}

static inline void mote_fc4_run(const mote_fc4_run_t *run, int32_t inputs, int32_t form, int32_t s) {
    const int32_t words = mote_fc4_words(run, inputs), wide = form >= mote_fc4_relu, lanes = wide ? 4 : 2;
    const int32_t *w = run->weights, *scale = run->scale;
    for (int8_t *out = run->out; out < run->stop; out += 4, scale += run->step / 4) {
        uint32_t sum[4] = {(uint32_t)w[0], (uint32_t)w[1], (uint32_t)w[2], (uint32_t)w[3]};
        int32_t k = 0, more = 0;
        w += 4;
        do {
            if (inputs >= mote_fc4_sparse4) {
                more = *w >= 0;
                k += *w++ / 4;
            }
            for (const int32_t end = k + words; k < end; k++) {
                for (int32_t c = 0; c < lanes; c++, w++) {
                    for (int32_t i = 0; i < 2; i++) {
                        const int32_t x = mote_fc4_input(run->x, k, i, inputs), both = mote_fc4_half((uint32_t)*w, i);
                        if (wide) {
                            sum[c] += (uint32_t)(x * both);
                        } else {
                            sum[2 * c] += (uint32_t)(x * (int8_t)(both & 0xff));
                            sum[2 * c + 1] += (uint32_t)(x * both);
                        }
                    }
                }
            }
        } while (more);
        for (int32_t c = 0; c < 4; c++) {
            const int32_t y = (int32_t)(wide || c % 2 == 0 ? sum[c] : sum[c] - sum[c - 1]);
            if (wide) {
                out[c] = mote_narrow(y, w, form == mote_fc4_linear, s);
                w += form == mote_fc4_linear ? 3 : 2;
            } else if (form == mote_fc4_twice) {
                out[c] = mote_narrow_twice(y >> (c % 2 ? 8 : 0), scale + 2 * c, run->zero);
            } else {
                out[c] = mote_fc4_finish_once(y, scale + 2 * c, run->zero);
            }
        }
    }
}
#endif

/* The first outputs of a vector, a multiple of four. */
static inline mote_fc4_run_t mote_fc4_whole(const mote_fc4_t *p, const void *x, const void *end, int8_t *out) {
    mote_fc4_run_t run;
    run.weights = p->weights;
    run.x = x;
    run.scale = p->scale;
    run.out = out;
    run.end = end;
    run.stop = out + (p->channels & ~3);
    run.step = 4 * p->step;
    run.zero = p->zero;
    run.skip = -(p->depth / 8) & 3;
    return run;
}

/* The last four, not all of which the vector has. */
static inline void mote_fc4_rest(const mote_fc4_t *p, mote_fc4_run_t *run, int8_t *four) {
    const int32_t fours = p->channels / 4;
    run->weights = p->weights + p->rest;
    run->scale = p->scale + fours * p->step;
    run->out = four;
    run->stop = four + 4;
}

#define MOTE_FC4_OUTPUTS(function, p, x, end, out) \
    do { \
        mote_fc4_run_t run = mote_fc4_whole(p, x, end, out); \
        const int32_t rest = (p)->channels & 3; \
        if ((p)->channels > 3) { \
            function(&run); \
        } \
        if (rest) { \
            int8_t four[4]; \
            mote_fc4_rest(p, &run, four); \
            function(&run); \
            memcpy((out) + (p)->channels - rest, four, (size_t)rest); \
        } \
    } while (0)

/* Four inputs as two words of 16-bit halves. */
static inline void mote_fc4_widen4(const int8_t *x, uint32_t *to) {
#if MOTE_DSP
    const uint32_t four = mote_load4(x);
    __asm__("sxtb16 %0, %1" : "=r"(to[0]) : "r"(four));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(to[1]) : "r"(four));
#else
    to[0] = (uint32_t)(uint16_t)x[0] | (uint32_t)(uint16_t)x[2] << 16;
    to[1] = (uint32_t)(uint16_t)x[1] | (uint32_t)(uint16_t)x[3] << 16;
#endif
}

/* Inputs as words, zeros behind the last one of the last four; gives where they end. */
MOTE_HOT static inline uint32_t *mote_fc4_widen(const int8_t *x, int32_t inputs, uint32_t *to) {
    for (; inputs >= 4; inputs -= 4, x += 4, to += 2) {
        mote_fc4_widen4(x, to);
    }
    if (inputs > 0) {
        int8_t last[4] = {0, 0, 0, 0};
        memcpy(last, x, (size_t)inputs);
        mote_fc4_widen4(last, to);
        to += 2;
    }
    return to;
}

/* Zeros behind them, up to a multiple of eight. */
static inline void mote_fc4_fill(uint32_t *from, const uint32_t *end) {
    if (from < end) {
        from[0] = from[1] = 0;
    }
}

/* The inputs are a multiple of eight. */
#define MOTE_FC4_LEAN(name, form, s) \
    MOTE_FC4_RUN(name##_outputs, bytes, form, s) \
    typedef mote_fc4_t name##_s8_t; \
\
    MOTE_NOINLINE void name##_s8(const name##_s8_t *p, const int8_t *in, int8_t *out, int32_t vectors) { \
        for (; vectors > 0; vectors--, in += p->inputs, out += p->channels) { \
            MOTE_FC4_OUTPUTS(name##_outputs, p, in, in + p->inputs, out); \
        } \
    }

/* Scratch: two bytes for each input, padded. */
#define MOTE_FC4_ROOMY(name, sums, form, s) \
    MOTE_FC4_RUN(name##_outputs, sums, form, s) \
    typedef mote_fc4_t name##_s8_t; \
\
    MOTE_NOINLINE void name##_s8(const name##_s8_t *p, const int8_t *in, int8_t *out, int32_t vectors, \
                                 uint32_t *scratch) { \
        for (; vectors > 0; vectors--, in += p->inputs, out += p->channels) { \
            const uint32_t *const end = scratch + p->depth / 2; \
            mote_fc4_fill(mote_fc4_widen(in, p->inputs, scratch), end); \
            MOTE_FC4_OUTPUTS(name##_outputs, p, scratch, end, out); \
        } \
    } \
\
    /* The vector under a window of rows; the same scratch. */ \
    typedef mote_fc4_rows_t name##_rows_s8_t; \
\
    MOTE_NOINLINE void name##_rows_s8_row(const name##_rows_s8_t *p, const int8_t *const *rows, int8_t *out, \
                                          uint32_t *scratch) { \
        const uint32_t *const end = scratch + p->vector.depth / 2; \
        uint32_t *to = scratch; \
        for (int32_t k = 0; k < p->rows.taps; k++) { \
            to = mote_fc4_widen(rows[k], p->line, to); \
        } \
        mote_fc4_fill(to, end); \
        MOTE_FC4_OUTPUTS(name##_outputs, &p->vector, scratch, end, out); \
    } \
\
    MOTE_UNUSED static void name##_rows_s8(const name##_rows_s8_t *p, const int8_t *in, int8_t *out, int32_t lo, \
                                           int32_t hi, uint32_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->rows, in, y, rows); \
            name##_rows_s8_row(p, rows, out + y * p->rows.out_stride, scratch); \
        } \
    }

#define MOTE_FC4_KERNELS(name, form, s) \
    MOTE_FC4_LEAN(name, form, s) \
    MOTE_FC4_ROOMY(name##_roomy, widened, form, s) \
    MOTE_FC4_ROOMY(name##_sparse8, sparse8, form, s) \
    MOTE_FC4_ROOMY(name##_sparse4, sparse4, form, s)

MOTE_FC4_KERNELS(mote_fully_connected4, once, 0)
MOTE_FC4_KERNELS(mote_fully_connected4_twice, twice, 0)

/* What a model instantiates: the kernels for wide weights, a form of outputs and a shift. */
#define MOTE_FULLY_CONNECTED4(form, s) MOTE_FC4_KERNELS(mote_fully_connected4_##form##_##s, form, s)

#endif
