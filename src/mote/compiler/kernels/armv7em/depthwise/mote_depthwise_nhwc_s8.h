/* mote_depthwise_nhwc_s8.h: int8 depthwise convolution over NHWC rows by the kernels over planar rows, for cores with DSP
 * instructions.
 *
 * Each row of the image is made planar once, as mote_planar_s8.h says, in a ring of rows in working memory: for windows
 * with a depth multiplier each channel has as many lines as it has outputs; for those with dilated columns, each `spread`
 * columns apart, a row is `spread` planar rows one after another, the outputs of which are put together afterwards.
 * Bytes of padding are the zero point plus 128, which the compiler has taken from the biases. Where that is zero, rows
 * outside of the image may be left out; else (`filled`) they are rows of padding. The kernel over planar rows sees a row of
 * a long window as several rows, each four columns behind the one before.
 */
#ifndef MOTE_DEPTHWISE_NHWC_S8_H
#define MOTE_DEPTHWISE_NHWC_S8_H

#include "mote_depthwise_two_s8.h"
#include "mote_depthwise_wide_s8.h"

typedef struct {
    mote_window_t rows;
    int32_t count;              /* rows of outputs of all images */
    int32_t width, channels;    /* pixels of an input row, and channels of each */
    int32_t outputs;            /* pixels of an output row */
    int32_t multiplier, spread; /* output channels of each channel; columns from one under a window to the next */
    int32_t line, before;       /* bytes of a line; columns of padding from its first one to the first pixel */
    int32_t ring;               /* rows that are kept */
    int32_t parts;              /* of four columns each, that a row of a long window is made of */
    int32_t zero, filled;
} mote_planes_t;

typedef struct {
    mote_planes_t planes;
    mote_planar_t planar;
} mote_depthwise3_nhwc_t;

typedef struct {
    mote_planes_t planes;
    mote_depthwise_wide_t planar;
} mote_depthwise_wide_nhwc_t;

/* Channels are converted by fours: lines of a planar row, the last of which may hold nothing. */
static inline int32_t mote_planes_lines(const mote_planes_t *p) {
    return (p->channels < 4 ? 4 : p->channels) * p->multiplier;
}

/* Bytes of a row in the ring. */
static inline int32_t mote_planes_row(const mote_planes_t *p) { return p->spread * mote_planes_lines(p) * p->line; }

/* Working memory behind the ring: outputs of a planar row, where several make one row; a pixel of padding; a row of the
 * image, where its last pixels have no four bytes. */
static inline int32_t mote_planes_outs(const mote_planes_t *p) {
    const int32_t most = (p->outputs + p->spread - 1) / p->spread * p->channels * p->multiplier;
    return p->spread == 1 ? 0 : (most + 3) & ~3;
}
static inline int32_t mote_planes_pixel(const mote_planes_t *p) { return (p->channels + 3) & ~3; }

#if MOTE_DSP
/* Fours of pixels, of which channels become words of lines. */
typedef struct {
    const int8_t *pixels[4];
    int8_t *to;
    int32_t line, third, next; /* from one of four lines to the next, to the last, and to the next four */
    int32_t count;             /* fours of channels */
    int32_t behind, back;      /* behind them: to the next four pixels, and to the next word of the first line */
    int32_t fours;             /* of pixels */
} mote_planes_words_t;

/* Bytes 0 and 2 of a word are selected from the first register, 1 and 3 from the second: 27 instructions for 16 bytes. */
__attribute__((naked, noinline, unused)) static void mote_planes_words(
    mote_planes_words_t *w __attribute__((unused))) {
    __asm__ volatile(
        "push {r0, r4-r11, lr}\n\t"
        "ldm r0, {r0-r8}\n\t"
        "mov lr, #0x00ff00ff\n\t"
        "uadd8 lr, lr, lr\n"
        "1:\n\t"
        "ldr r9, [r0], #4\n\t"
        "ldr r11, [r2], #4\n\t"
        "ldr r10, [r1], #4\n\t"
        "ldr r12, [r3], #4\n\t"
        "lsl lr, r11, #8\n\t"
        "sel lr, r9, lr\n\t"
        "lsr r9, r9, #8\n\t"
        "sel r9, r9, r11\n\t"
        "lsl r11, r12, #8\n\t"
        "sel r11, r10, r11\n\t"
        "lsr r10, r10, #8\n\t"
        "sel r10, r10, r12\n\t"
        "pkhbt r12, lr, r11, lsl #16\n\t"
        "pkhtb r11, r11, lr, asr #16\n\t"
        "pkhbt lr, r9, r10, lsl #16\n\t"
        "pkhtb r10, r10, r9, asr #16\n\t"
        "eor r12, r12, #0x80808080\n\t"
        "eor lr, lr, #0x80808080\n\t"
        "eor r11, r11, #0x80808080\n\t"
        "eor r10, r10, #0x80808080\n\t"
        "str r12, [r4]\n\t"
        "str lr, [r4, r5]\n\t"
        "str r11, [r4, r5, lsl #1]\n\t"
        "str r10, [r4, r6]\n\t"
        "add r4, r4, r7\n\t"
        "subs r8, r8, #1\n\t"
        "bne 1b\n\t"
        "ldr r12, [sp]\n\t"
        "add r12, r12, #32\n\t"
        "ldm r12, {r8-r11}\n\t"
        "subs r11, r11, #1\n\t"
        "str r11, [r12, #12]\n\t"
        "add r0, r0, r9\n\t"
        "add r1, r1, r9\n\t"
        "add r2, r2, r9\n\t"
        "add r3, r3, r9\n\t"
        "add r4, r4, r10\n\t"
        "bne 1b\n\t"
        "pop {r0, r4-r11, pc}\n\t");
}

/* The words of lines for fours of channels from the first of `row` on. */
static inline void mote_planes_fours(const mote_planes_t *p, const int8_t *row, int32_t first, int8_t *to,
                                     const int8_t *pixel, int32_t count) {
    const int32_t width = p->width, channels = p->channels, step = p->spread, line = p->multiplier * p->line;
    const int32_t next = step * channels;
    mote_planes_words_t w = {{NULL, NULL, NULL, NULL}, to, line, 3 * line, 4 * line, count, 4 * (next - count),
                             4 - 4 * count * line, 1};
    for (int32_t words = p->line / 4; words > 0; words -= w.fours, first += 4 * step * w.fours, w.to += 4 * w.fours) {
        const int8_t *from = row + first * channels;
        int32_t fours = 1;
        if (first >= 0 && first + 3 * step < width) {
            fours = mote_min((width - 1 - first - 3 * step) / (4 * step) + 1, words);
        }
        for (int32_t j = 0, x = first; j < 4; j++, x += step, from += next) {
            w.pixels[j] = x >= 0 && x < width ? from : pixel;
        }
        w.fours = fours;
        mote_planes_words(&w);
        w.fours = fours;
    }
}

/* The lines of a row of the image that begin with column `first`. */
static inline void mote_planes_lines_of(const mote_planes_t *p, const int8_t *row, int32_t first, int8_t *to,
                                        int8_t *pixel) {
    const int32_t channels = p->channels, last = channels - 4;
    if (last < 0) {
        memcpy(pixel + 4, row, (size_t)(p->width * channels));
        row = pixel + 4;
    }
    mote_planes_fours(p, row, first, to, pixel, last < 0 ? 1 : channels / 4);
    if (last > 0 && channels % 4 != 0) {
        mote_planes_fours(p, row + last, first, to + last * p->multiplier * p->line, pixel + last, 1);
    }
}
#else
static inline void mote_planes_lines_of(const mote_planes_t *p, const int8_t *row, int32_t first, int8_t *to,
                                        int8_t *pixel) {
    for (int32_t c = 0; c < p->channels; c++, to += p->multiplier * p->line) {
        for (int32_t i = 0, x = first; i < p->line; i++, x += p->spread) {
            const int8_t value = x >= 0 && x < p->width ? row[x * p->channels + c] : pixel[c];
            to[(i & ~3) | (i & 1) << 1 | (i >> 1 & 1)] = (int8_t)(value ^ -128);
        }
    }
}
#endif

/* A row of the image, NULL outside of it, as it lies in the ring. */
MOTE_NOINLINE void mote_planes_convert(const mote_planes_t *p, const int8_t *row, int8_t *to, int8_t *pixel) {
    if (row == NULL) {
        memset(to, (uint8_t)(p->zero + 128), (size_t)mote_planes_row(p));
        return;
    }
    for (int32_t phase = 0; phase < p->spread; phase++, to += mote_planes_lines(p) * p->line) {
        mote_planes_lines_of(p, row, phase - p->before, to, pixel);
        for (int32_t c = 0; p->multiplier > 1 && c < p->channels; c++) {
            int8_t *const lines = to + c * p->multiplier * p->line;
            for (int32_t j = 1; j < p->multiplier; j++) {
                memcpy(lines + j * p->line, lines, (size_t)p->line);
            }
        }
    }
}

/* The planar rows under `count` rows of outputs from y on. The rows of its image before `next` were converted; gives the
 * one behind those that are now. */
static inline int32_t mote_planes_rows(const mote_planes_t *p, const int8_t *in, int32_t y, int32_t count, int32_t next,
                                       const int8_t **rows, int8_t *scratch) {
    const mote_window_t *const w = &p->rows;
    const int32_t bytes = mote_planes_row(p), taps = w->taps + (count - 1) * w->step;
    int8_t *const pixel = scratch + p->ring * bytes + mote_planes_outs(p);
    int32_t image, row = mote_window_first(w, y, &image);
    const int32_t end = row + (taps - 1) * w->spread + 1;
    in += image * w->in_rows * w->in_stride;
    if (y == 0) {
        memset(pixel, (uint8_t)p->zero, (size_t)mote_planes_pixel(p));
    }
    for (next = row == -w->pad || next < row ? row : next; next < end; next++) {
        const int32_t inside = next >= 0 && next < w->in_rows;
        if (inside || p->filled) {
            mote_planes_convert(p, inside ? in + next * w->in_stride : NULL, scratch + (next + w->pad) % p->ring * bytes,
                                pixel);
        }
    }
    for (int32_t k = 0; k < taps; k++, row += w->spread) {
        const int32_t there = p->filled || (row >= 0 && row < w->in_rows);
        const int8_t *const line = scratch + (row + w->pad) % p->ring * bytes;
        for (int32_t i = 0; i < p->parts; i++) {
            *rows++ = there ? line + 4 * i : NULL;
        }
    }
    return next;
}

/* Puts outputs of planar row `phase` where they belong. */
static inline void mote_planes_put(const mote_planes_t *p, int32_t phase, const int8_t *from, int8_t *out) {
    const int32_t pixel = p->channels * p->multiplier;
    for (int32_t x = phase; x < p->outputs; x += p->spread, from += pixel) {
        memcpy(out + x * pixel, from, (size_t)pixel);
    }
}

/* Goes on to the next of the planar rows that are one row of the image. */
static inline void mote_planes_next(const mote_planes_t *p, const int8_t **rows) {
    for (int32_t k = 0; k < p->rows.taps * p->parts; k++) {
        rows[k] = rows[k] == NULL ? NULL : rows[k] + mote_planes_lines(p) * p->line;
    }
}

/* What a model instantiates beside a kernel over planar rows that computes a row, or up to two. */
#define MOTE_DEPTHWISE3_NHWC(id, planar) MOTE_PLANES_ONE(id, planar, mote_depthwise3_nhwc_t)
#define MOTE_DEPTHWISE_WIDE_NHWC(id, planar) MOTE_PLANES_ONE(id, planar, mote_depthwise_wide_nhwc_t)
#define MOTE_PLANES_ONE(id, planar_, type) \
    typedef type mote_##id##_t; \
    MOTE_NOINLINE void mote_##id(const type *p, const int8_t *in, int8_t *out, int8_t *scratch) { \
        const mote_planes_t *const planes = &p->planes; \
        int8_t *const made = scratch + planes->ring * mote_planes_row(planes); \
        const int8_t *rows[MOTE_MAX_TAPS]; \
        for (int32_t y = 0, next = 0; y < planes->count; y++, out += planes->rows.out_stride) { \
            next = mote_planes_rows(planes, in, y, 1, next, rows, scratch); \
            mote_##planar_##_row(&p->planar, rows, planes->spread == 1 ? out : made); \
            if (planes->spread > 1) { \
                mote_planes_put(planes, 0, made, out); \
                for (int32_t phase = 1; phase < planes->spread; phase++) { \
                    mote_planes_next(planes, rows); \
                    mote_##planar_##_row(&p->planar, rows, made); \
                    mote_planes_put(planes, phase, made, out); \
                } \
            } \
        } \
    }
#define MOTE_DEPTHWISE_TWO_NHWC(id, planar_) \
    typedef mote_depthwise3_nhwc_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id(const mote_depthwise3_nhwc_t *p, const int8_t *in, int8_t *out, int8_t *scratch) { \
        const mote_planes_t *const planes = &p->planes; \
        const int8_t *rows[MOTE_MAX_TAPS + 2]; \
        for (int32_t y = 0, next = 0; y < planes->count; y += 2, out += 2 * planes->rows.out_stride) { \
            int8_t *const outs[2] = {out, out + planes->rows.out_stride}; \
            const int32_t count = planes->count - y < 2 ? 1 : 2; \
            next = mote_planes_rows(planes, in, y, count, next, rows, scratch); \
            mote_##planar_##_rows(&p->planar, rows, outs, count); \
        } \
    }

#endif
