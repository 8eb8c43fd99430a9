/* mote_depthwise3_any_s8.h: int8 depthwise convolution with 3x3 windows over planar rows of any length, for cores with DSP
 * instructions: the kernel of runtimes for models that are not known yet.
 *
 * It makes blocks of four outputs as mote_depthwise3_s8.h does, by the same code, but a row that is no multiple of four
 * ends with a block of four as well: the outputs that are too many go to working memory. The last block of a line reads
 * up to five bytes behind it, so that the lines of the last channel are copied where lines do not have as many.
 */
#ifndef MOTE_DEPTHWISE3_ANY_S8_H
#define MOTE_DEPTHWISE3_ANY_S8_H

#include "mote_depthwise3_s8.h"

#define MOTE_PLANAR_BEHIND 8 /* bytes behind the copy of a line */

/* Bytes of a line. */
static inline int32_t mote_planar_line(const mote_planar_t *p) { return p->columns + p->skip; }

#if MOTE_DSP
/* Some of the channels. */
typedef struct {
    const int32_t *records;
    int32_t channels, wide, skip;
    int32_t first, last;
} mote_planar_run_t;

typedef void mote_planar_code_t(const mote_planar_run_t *run, const int8_t *const *rows, int8_t *out, int32_t first);

#define MOTE_ANY3_ASM(name, rows_, stride, form, s) \
    __attribute__((naked, noinline, unused)) static void name( \
        const mote_planar_run_t *run __attribute__((unused)), const int8_t *const *rows __attribute__((unused)), \
        int8_t *out __attribute__((unused)), int32_t first __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n\t" \
            "ldrd r12, lr, [r0, #16]\n\t" \
            "ldm r0, {r0, r4, r5, r11}\n\t" \
            "add r6, r2, r5\n\t" \
            "add r7, r6, r4\n\t" \
            "add r8, r7, r4\n\t" \
            "add r9, r8, r4\n\t" \
            "lsl r10, r4, #2\n\t" \
            "sub r4, r12, r5\n\t" \
            "sub r12, r5, #1\n\t" \
            "push {r6-r12, lr}\n\t" \
            "mov r8, r4\n\t" MOTE_ROWS3_##rows_ "0:\n" \
            "1:\n\t" MOTE_SUMS3_##rows_(stride, 4, "4", form) MOTE_BYTES_4(form, s) MOTE_FOURS3_STORE \
                MOTE_FOURS3_NEXT(w16, rows_, form)); \
    }

/* In a record the first row's weights lie behind 4 bytes, the next behind 12. */
MOTE_ALWAYS_INLINE void mote_any3_pass(const mote_planar_run_t *run, const int8_t *const *rows, int8_t *out,
                                       mote_planar_code_t *three, mote_planar_code_t *two) {
    if (rows[0] == NULL) {
        two(run, rows + 1, out, 12);
    } else if (rows[2] == NULL) {
        two(run, rows, out, 4);
    } else {
        three(run, rows, out, 0);
    }
}

MOTE_ALWAYS_INLINE void mote_any3_row(const mote_planar_t *p, const int8_t *const *rows, int8_t *out, int8_t *scratch,
                                      int32_t record, mote_planar_code_t *three, mote_planar_code_t *two) {
    const int32_t channels = p->channels, line = mote_planar_line(p), made = p->outputs * channels;
    const int32_t whole = p->skip >= 4, copy = line + MOTE_PLANAR_BEHIND;
    mote_planar_run_t run = {p->records, channels, p->wide, p->skip, 0, channels - (whole ? 1 : 2)};
    int8_t *const to = p->wide == made ? out : scratch + (whole ? 0 : 3 * copy);
    if (run.last >= 0) {
        mote_any3_pass(&run, rows, to, three, two);
    }
    if (!whole) {
        const int8_t *last[3];
        for (int32_t k = 0; k < 3; k++, scratch += copy) {
            last[k] = NULL;
            if (rows[k] != NULL) {
                memcpy(scratch, rows[k] + (channels - 1) * line, (size_t)line);
                last[k] = scratch;
            }
        }
        run.records += (channels - 1) * record;
        run.first = run.last = channels - 1;
        mote_any3_pass(&run, last, to, three, two);
    }
    if (to != out) {
        memcpy(out, to, (size_t)made);
    }
}

#define MOTE_ANY3_RECORD_relu 9
#define MOTE_ANY3_RECORD_linear 10
#define MOTE_ANY3_ROW(id, stride, form, s) \
    mote_any3_row(p, rows, out, scratch, MOTE_ANY3_RECORD_##form, mote_##id##_3rows, mote_##id##_2rows);
#define MOTE_ANY3_CODE(id, stride, form, s) \
    MOTE_ANY3_ASM(mote_##id##_3rows, 3, stride, form, s) \
    MOTE_ANY3_ASM(mote_##id##_2rows, 2, stride, form, s)
#else
#define MOTE_ANY3_CODE(id, stride, form, s)
#define MOTE_ANY3_ROW(id, stride, form, s) \
    (void)scratch; \
    mote_planar_row(p, rows, out, mote_planar_w16, mote_planar_##stride, mote_planar_##form, s);
#endif

/* What a runtime instantiates: the stride is s1 or s2, the form relu or linear. */
#define MOTE_DEPTHWISE3_ANY(stride, form, s) MOTE_DEPTHWISE3_ANY_(depthwise3_any_##stride##_##form##_##s, stride, form, s)
#define MOTE_DEPTHWISE3_ANY_(id, stride, form, s) \
    typedef mote_planar_t mote_##id##_t; \
    MOTE_ANY3_CODE(id, stride, form, #s) \
    MOTE_NOINLINE void mote_##id##_row(const mote_planar_t *p, const int8_t *const *rows, int8_t *out, \
                                       int8_t *scratch) { \
        MOTE_ANY3_ROW(id, stride, form, s) \
    } \
    MOTE_NOINLINE void mote_##id(const mote_planar_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi, \
                                 int8_t *scratch) { \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = lo; y < hi; y++) { \
            mote_window_s8(&p->rows, in, y, rows); \
            mote_##id##_row(p, rows, out + y * p->rows.out_stride, scratch); \
        } \
    }

#endif
