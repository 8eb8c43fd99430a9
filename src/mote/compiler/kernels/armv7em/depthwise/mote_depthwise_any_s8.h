/* mote_depthwise_any_s8.h: int8 depthwise convolution with windows of 5 or 7 columns and any number of rows over planar
 * rows of any length, for cores with DSP instructions: the kernels of runtimes for models that are not known yet.
 *
 * A row of a channel is made in blocks of four outputs; those of the last block that are too many go to working memory.
 * Lines are so long that no block reads behind its own. A record is the bias, the constants that turn a sum into a byte,
 * then for each row of the window the words of weights: (w0, w1), (w1, w2), .. for stride 1, (w0, w1), (w2, w3), .. for
 * stride 2. Rows of the window outside of the image are left out; one at least is inside.
 */
#ifndef MOTE_DEPTHWISE_ANY_S8_H
#define MOTE_DEPTHWISE_ANY_S8_H

#include "mote_planar_s8.h"

typedef struct {
    const int32_t *records;
    int32_t channels;
    int32_t outputs; /* in a row */
    int32_t line;    /* bytes of a line */
    int32_t record;  /* words of a record */
    mote_window_t rows;
} mote_depthwise_any_t;

enum {
    MOTE_ANY_WORDS_5_s1 = 4, /* of weights, for a row of the window */
    MOTE_ANY_WORDS_5_s2 = 3,
    MOTE_ANY_WORDS_7_s1 = 6,
    MOTE_ANY_WORDS_7_s2 = 4,
    MOTE_ANY_READ_5_s1 = 8, /* bytes of a line that a block reads */
    MOTE_ANY_READ_5_s2 = 12,
    MOTE_ANY_READ_7_s1 = 12,
    MOTE_ANY_READ_7_s2 = 16,
    MOTE_ANY_STRIDE_s1 = 1,
    MOTE_ANY_STRIDE_s2 = 2,
    MOTE_ANY_HEAD_relu = 3, /* words of a record before its weights */
    MOTE_ANY_HEAD_linear = 4
};

/* Blocks of four outputs in a row. */
static inline int32_t mote_any_blocks(int32_t outputs) { return outputs / 4 + (outputs % 4 > 0); }

#if MOTE_DSP
/* What the assembly works on, in a copy on its stack. */
typedef struct {
    const int8_t *const *end; /* of the rows' pointers */
    const int8_t *const *rows;
    const int32_t *record; /* of the channel */
    int32_t first;         /* bytes from there to the weights of the first row */
    int8_t *out;           /* of the block */
    int32_t channels;
    int32_t stop;   /* where the channel's last block ends, in a row, */
    int32_t skip;   /* and bytes from there to the next line */
    int8_t *column; /* the channel's first output */
    int32_t left;   /* channels */
    int32_t next;   /* bytes of a record */
    int32_t used;   /* bytes of a line that blocks begin in */
} mote_any_run_t;

typedef void mote_any_code_t(const mote_any_run_t *run);

/* One row's share of four sums r4-r7. r0: the block's inputs, r3: weights. Even outputs begin with a pair of columns,
 * odd ones in its midst. */
#define MOTE_ANY_MAC(op, sum, x, w) op " " sum ", " x ", " w ", " sum "\n\t"
#define MOTE_ANY_HEAD_s1 \
    "ldrd r8, r9, [r0]\n\t" \
    "ldm r3!, {r10, r11}\n\t" \
    "uxtb16 r12, r8, ror #8\n\t" \
    "uxtb16 r8, r8\n\t" \
    "uxtb16 lr, r9\n\t" \
    MOTE_ANY_MAC("smlad", "r4", "r8", "r10") MOTE_ANY_MAC("smlatb", "r5", "r8", "r10") \
    MOTE_ANY_MAC("smlad", "r6", "r12", "r10") MOTE_ANY_MAC("smlatb", "r7", "r12", "r10") \
    MOTE_ANY_MAC("smlad", "r5", "r12", "r11") MOTE_ANY_MAC("smlad", "r7", "lr", "r11") \
    "ldm r3!, {r10, r11}\n\t" \
    "uxtb16 r9, r9, ror #8\n\t" \
    MOTE_ANY_MAC("smlad", "r4", "r12", "r10") MOTE_ANY_MAC("smlad", "r6", "lr", "r10")
/* 24 instructions. */
#define MOTE_ANY_ROW_5_s1 \
    MOTE_ANY_HEAD_s1 \
    MOTE_ANY_MAC("smlabt", "r4", "lr", "r11") MOTE_ANY_MAC("smlad", "r5", "lr", "r11") \
    MOTE_ANY_MAC("smlabt", "r6", "r9", "r11") MOTE_ANY_MAC("smlad", "r7", "r9", "r11")
#define MOTE_ANY_ROW_7_s1 \
    MOTE_ANY_HEAD_s1 \
    MOTE_ANY_MAC("smlad", "r5", "lr", "r11") MOTE_ANY_MAC("smlad", "r7", "r9", "r11") \
    "ldm r3!, {r10, r11}\n\t" \
    "ldr r8, [r0, #8]\n\t" \
    MOTE_ANY_MAC("smlad", "r4", "lr", "r10") MOTE_ANY_MAC("smlad", "r6", "r9", "r10") \
    "uxtb16 r8, r8\n\t" \
    MOTE_ANY_MAC("smlabt", "r4", "r9", "r11") MOTE_ANY_MAC("smlad", "r5", "r9", "r11") \
    MOTE_ANY_MAC("smlabt", "r6", "r8", "r11") MOTE_ANY_MAC("smlad", "r7", "r8", "r11")
/* All outputs begin with a pair of columns. */
#define MOTE_ANY_HEAD_s2 \
    "ldm r3!, {r10-r12}\n\t" \
    "ldrd r8, r9, [r0]\n\t" \
    "uxtb16 lr, r8\n\t" \
    "uxtb16 r8, r8, ror #8\n\t" \
    MOTE_ANY_MAC("smlad", "r4", "lr", "r10") MOTE_ANY_MAC("smlad", "r5", "r8", "r10") \
    MOTE_ANY_MAC("smlad", "r4", "r8", "r11") \
    "uxtb16 lr, r9\n\t" \
    "uxtb16 r9, r9, ror #8\n\t" \
    MOTE_ANY_MAC("smlad", "r6", "lr", "r10") MOTE_ANY_MAC("smlad", "r5", "lr", "r11") \
    MOTE_ANY_MAC("smlad", "r4", "lr", "r12") MOTE_ANY_MAC("smlad", "r7", "r9", "r10") \
    MOTE_ANY_MAC("smlad", "r6", "r9", "r11") MOTE_ANY_MAC("smlad", "r5", "r9", "r12")
#define MOTE_ANY_ROW_5_s2 \
    MOTE_ANY_HEAD_s2 \
    "ldr r8, [r0, #8]\n\t" \
    "uxtb16 lr, r8\n\t" \
    "uxtb16 r8, r8, ror #8\n\t" \
    MOTE_ANY_MAC("smlad", "r7", "lr", "r11") MOTE_ANY_MAC("smlad", "r6", "lr", "r12") \
    MOTE_ANY_MAC("smlad", "r7", "r8", "r12")
#define MOTE_ANY_ROW_7_s2 \
    MOTE_ANY_HEAD_s2 \
    "ldr r10, [r3], #4\n\t" \
    MOTE_ANY_MAC("smlad", "r4", "r9", "r10") \
    "ldrd r8, r9, [r0, #8]\n\t" \
    "uxtb16 lr, r8\n\t" \
    "uxtb16 r8, r8, ror #8\n\t" \
    MOTE_ANY_MAC("smlad", "r7", "lr", "r11") MOTE_ANY_MAC("smlad", "r6", "lr", "r12") \
    MOTE_ANY_MAC("smlad", "r5", "lr", "r10") \
    "uxtb16 r9, r9\n\t" \
    MOTE_ANY_MAC("smlad", "r7", "r8", "r12") MOTE_ANY_MAC("smlad", "r6", "r8", "r10") \
    MOTE_ANY_MAC("smlad", "r7", "r9", "r10")

#define MOTE_ANY_CONSTANTS_relu "ldrd r10, r11, [r8, #4]\n\t"
#define MOTE_ANY_CONSTANTS_linear \
    "ldrd r10, r11, [r8, #4]\n\t" \
    "ldr r12, [r8, #12]\n\t"
#define MOTE_ANY_STEP_s1 "4"
#define MOTE_ANY_STEP_s2 "8"

/* r1: the pointer of the next row, r2: where the block begins in it. */
#define MOTE_ANY_CODE(id, columns, stride, form, s) \
    __attribute__((naked, noinline, unused)) static void mote_##id##_code( \
        const mote_any_run_t *run __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n\t" \
            "sub sp, #48\n\t" \
            "mov r1, sp\n\t" \
            "ldm r0!, {r4-r9}\n\t" \
            "stm r1!, {r4-r9}\n\t" \
            "ldm r0, {r4-r9}\n\t" \
            "stm r1, {r4-r9}\n\t" \
            "movs r2, #0\n" \
            "1:\n\t" /* a block */ \
            "ldrd r8, r9, [sp, #8]\n\t" \
            "ldr r1, [sp, #4]\n\t" \
            "ldr r4, [r8]\n\t" \
            "add r3, r8, r9\n\t" \
            "mov r5, r4\n\t" \
            "mov r6, r4\n\t" \
            "mov r7, r4\n" \
            "2:\n\t" /* a row of the window */ \
            "ldr r0, [r1], #4\n\t" \
            "add r0, r2\n\t" MOTE_ANY_ROW_##columns##_##stride \
            "ldr r8, [sp]\n\t" \
            "cmp r1, r8\n\t" \
            "bne 2b\n\t" \
            "ldr r8, [sp, #8]\n\t" MOTE_ANY_CONSTANTS_##form \
            "ldrd r8, r9, [sp, #16]\n\t" MOTE_PLANAR_SCALE_##form("r4") MOTE_PLANAR_SCALE_##form("r5") \
                MOTE_PLANAR_SCALE_##form("r6") MOTE_PLANAR_SCALE_##form("r7") MOTE_PLANAR_BYTE("r4", s) \
                    MOTE_PLANAR_BYTE("r5", s) MOTE_PLANAR_BYTE("r6", s) MOTE_PLANAR_BYTE("r7", s) \
            "strb r4, [r8]\n\t" \
            "strb r5, [r8, r9]\n\t" \
            "add r8, r8, r9, lsl #1\n\t" \
            "strb r6, [r8]\n\t" \
            "strb r7, [r8, r9]\n\t" \
            "add r8, r8, r9, lsl #1\n\t" \
            "str r8, [sp, #16]\n\t" \
            "ldr r9, [sp, #24]\n\t" \
            "adds r2, #" MOTE_ANY_STEP_##stride "\n\t" \
            "cmp r2, r9\n\t" \
            "bne 1b\n\t" \
            "ldr r8, [sp, #28]\n\t" /* the next channel */ \
            "ldrd r10, r11, [sp, #40]\n\t" \
            "add r2, r8\n\t" \
            "add r9, r2, r11\n\t" \
            "str r9, [sp, #24]\n\t" \
            "ldr r9, [sp, #8]\n\t" \
            "add r9, r10\n\t" \
            "str r9, [sp, #8]\n\t" \
            "ldrd r8, r9, [sp, #32]\n\t" \
            "add r8, #1\n\t" \
            "str r8, [sp, #16]\n\t" \
            "subs r9, #1\n\t" \
            "strd r8, r9, [sp, #32]\n\t" \
            "bne 1b\n\t" \
            "add sp, #48\n\t" \
            "pop {r4-r11, pc}\n\t"); \
    }

MOTE_NOINLINE void mote_any_row(const mote_depthwise_any_t *p, const int8_t *const *rows, int8_t *out, int8_t *scratch,
                                int32_t stride, int32_t head, int32_t words, mote_any_code_t *code) {
    const int32_t used = 4 * stride * mote_any_blocks(p->outputs);
    const int8_t *inside[MOTE_MAX_TAPS];
    int32_t count = 0, above = 0;
    int8_t *const to = p->outputs % 4 == 0 ? out : scratch;
    for (int32_t k = 0; k < p->rows.taps; k++) {
        if (rows[k] != NULL) {
            inside[count++] = rows[k];
        }
        above += count == 0;
    }
    const mote_any_run_t run = {inside + count, inside, p->records, 4 * (head + above * words), to, p->channels, used,
                                p->line - used, to, p->channels, 4 * p->record, used};
    code(&run);
    if (to != out) {
        memcpy(out, to, (size_t)(p->outputs * p->channels));
    }
}

#define MOTE_ANY_ROW(id, columns, stride, form, s) \
    mote_any_row(p, rows, out, scratch, MOTE_ANY_STRIDE_##stride, MOTE_ANY_HEAD_##form, \
                 MOTE_ANY_WORDS_##columns##_##stride, mote_##id##_code);
#else
#define MOTE_ANY_CODE(id, columns, stride, form, s)
#define MOTE_ANY_ROW(id, columns, stride, form, s) \
    (void)scratch; \
    mote_any_row(p, rows, out, columns, MOTE_ANY_STRIDE_##stride, MOTE_ANY_HEAD_##form, \
                 MOTE_ANY_WORDS_##columns##_##stride, s);

/* Column j of a row of weights. */
static inline int32_t mote_any_weight(const int32_t *w, int32_t j, int32_t stride) {
    return stride == 1 ? mote_planar_weight(w, j, 0) : mote_planar_half(w, j / 2, j % 2, 0);
}

/* What the assembly does. */
static inline void mote_any_row(const mote_depthwise_any_t *p, const int8_t *const *rows, int8_t *out, int32_t columns,
                                int32_t stride, int32_t head, int32_t words, int32_t s) {
    for (int32_t c = 0; c < p->channels; c++) {
        const int32_t *const q = p->records + c * p->record;
        for (int32_t x = 0; x < p->outputs; x++) {
            int32_t sum = q[0];
            for (int32_t k = 0; k < p->rows.taps; k++) {
                for (int32_t j = 0; rows[k] != NULL && j < columns; j++) {
                    const int32_t value = mote_planar_at(rows[k] + c * p->line, x * stride + j);
                    sum = mote_wrapping_add(sum, value * mote_any_weight(q + head + k * words, j, stride));
                }
            }
            out[x * p->channels + c] = mote_narrow(sum, q + 1, head == MOTE_ANY_HEAD_linear, s);
        }
    }
}
#endif

/* What a runtime instantiates: windows of 5 or 7 columns, stride s1 or s2, form relu or linear. */
#define MOTE_DEPTHWISE_ANY(columns, stride, form, s) \
    MOTE_DEPTHWISE_ANY_(depthwise_any##columns##_##stride##_##form##_##s, columns, stride, form, s, #s)
#define MOTE_DEPTHWISE_ANY_(id, columns, stride, form, s, shift) \
    typedef mote_depthwise_any_t mote_##id##_t; \
    MOTE_ANY_CODE(id, columns, stride, form, shift) \
    MOTE_NOINLINE void mote_##id##_row(const mote_depthwise_any_t *p, const int8_t *const *rows, int8_t *out, \
                                       int8_t *scratch) { \
        MOTE_ANY_ROW(id, columns, stride, form, s) \
    } \
    MOTE_NOINLINE void mote_##id(const mote_depthwise_any_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi, \
                                 int8_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->rows, in, y, rows); \
            mote_##id##_row(p, rows, out + y * p->rows.out_stride, scratch); \
        } \
    }

#endif
