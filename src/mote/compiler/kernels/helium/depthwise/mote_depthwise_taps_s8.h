/* mote_depthwise_taps_s8.h: int8 depthwise convolution with the taps of a window in the lanes of a vector, for cores with
 * Helium.
 *
 * Four rows at a time are interleaved into a plane: a word is a column of four rows of one channel, and with a depth
 * multiplier of an output channel. Rows and columns under dilated windows are as far apart as their taps. A gather of four
 * words brings sixteen inputs under a window, one instruction multiplies them with sixteen weights and adds up the
 * products. The inputs serve for neighbouring outputs as well, with the same weights loaded from some bytes before,
 * where zeros are. Then four outputs of a channel are the lanes of a vector, and four channels of them leave as words.
 * The code depends on the window and the image and comes from the compiler (helium/taps.py).
 *
 * Scratch: the sums of sixteen channels, the addresses of outputs, planes, and a row of zeros, which takes the outputs of
 * rows that nobody asked for.
 */
#ifndef MOTE_DEPTHWISE_TAPS_S8_H
#define MOTE_DEPTHWISE_TAPS_S8_H

#include "mote_lanes.h"

typedef struct {
    mote_window_t rows;
    int32_t channels, block;         /* channels, and those of a plane */
    int32_t out_width, wide;         /* columns of outputs, and those that are computed at once */
    int32_t zero;                    /* of the inputs */
    int32_t columns, before, width;  /* of a plane: all, padding, those of the image */
    int32_t stride;                  /* columns from one window to the next */
    int32_t group, planes;           /* rows of outputs that are computed at once, and what they are made from */
    const uint8_t *first;            /* the first row of each plane */
    int32_t single;                  /* whether there is one output for each channel, whose constants come in fours */
    int32_t quads;                   /* fours of outputs that are computed at once */
    const int16_t *place;           /* where they are in their rows, in bytes */
    const uint8_t *row;              /* and the rows */
    int32_t filter;                  /* bytes of a channel's weights */
    int32_t ahead;                   /* zeros before the first weights */
    const int8_t *weights;           /* in columns, with zeros behind them */
    const int32_t *constants;        /* those of mote_lanes.h */
    int32_t each;                    /* constants of a channel */
    const int32_t *lane;             /* offsets of a gather's words */
    mote_lanes_t lanes;
} mote_depthwise_taps_t;

/* All outputs of some channels, of some columns. */
typedef struct {
    const int8_t *in; /* the planes */
    const int8_t *weights;
    const int32_t *constants;
    int32_t *sums;
    const int32_t *table; /* the addresses of the outputs of the first channel */
    int32_t offset;       /* what is added to them */
    int32_t channels;
    const mote_lanes_t *lanes;
    const int32_t *lane;
    const mote_depthwise_taps_t *layer;
    int8_t *const *outs;
} mote_taps_call_t;

typedef void mote_taps_columns_t(const int8_t *const *rows, int8_t *to, int32_t channel, int32_t planes);
typedef void mote_taps_code_t(const mote_taps_call_t *call);

#if MOTE_HELIUM
#define MOTE_TAPS_COLUMNS(id, width, pixel, multiplier, block, plane, text) \
    __attribute__((naked, noinline, unused)) static void mote_##id( \
        const int8_t *const *rows __attribute__((unused)), int8_t *to __attribute__((unused)), \
        int32_t channel __attribute__((unused)), int32_t planes __attribute__((unused))) { \
        __asm__ volatile(text); \
    }

#define MOTE_TAPS_CODE(id, rows, band, step, tile, stride, height, gathers, column, down, across, form, shift, single, \
                       text) \
    __attribute__((naked, noinline, unused)) static void mote_##id(const mote_taps_call_t *call \
                                                                   __attribute__((unused))) { \
        __asm__ volatile(text); \
    }

/* The addresses of outputs: rows that are named by number, and places in them. */
__attribute__((naked, noinline, unused)) static void mote_taps_table(
    int8_t *const *outs __attribute__((unused)), const uint8_t *row __attribute__((unused)),
    const int16_t *place __attribute__((unused)), int32_t *table __attribute__((unused)),
    int32_t quads __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "ldr r4, [sp, #8]\n\t"
                     "dls lr, r4\n"
                     "1:\n\t"
                     "vldrb.u32 q0, [r1], #4\n\t"
                     "vldrw.u32 q1, [r0, q0, uxtw #2]\n\t"
                     "vldrh.s32 q2, [r2], #8\n\t"
                     "vadd.i32 q1, q1, q2\n\t"
                     "vstrw.32 q1, [r3], #16\n\t"
                     "le lr, 1b\n\t"
                     "pop {r4, pc}\n\t");
}

/* n bytes of the same value. */
__attribute__((naked, noinline, unused)) static void mote_taps_fill(int8_t *to __attribute__((unused)),
                                                                    int32_t value __attribute__((unused)),
                                                                    int32_t n __attribute__((unused))) {
    __asm__ volatile("push {r4, lr}\n\t"
                     "vdup.8 q0, r1\n\t"
                     "wlstp.8 lr, r2, 2f\n"
                     "1:\n\t"
                     "vstrb.8 q0, [r0], #16\n\t"
                     "letp lr, 1b\n"
                     "2:\n\t"
                     "pop {r4, pc}\n\t");
}
#else
#define MOTE_TAPS_COLUMNS(id, width, pixel, multiplier, block, plane, text) \
    MOTE_NOINLINE void mote_##id(const int8_t *const *rows, int8_t *to, int32_t channel, int32_t planes) { \
        mote_taps_interleave(rows, to, channel, planes, width, pixel, multiplier, block, plane); \
    }

#define MOTE_TAPS_CODE(id, rows, band, step, tile, stride, height, gathers, column, down, across, form, shift, single, \
                       text) \
    MOTE_NOINLINE void mote_##id(const mote_taps_call_t *call) { \
        mote_taps_c(call, rows, band, step, tile, stride, height, gathers, column, down, across, mote_lane_##form, \
                    shift, single); \
    }

static inline void mote_taps_interleave(const int8_t *const *rows, int8_t *to, int32_t channel, int32_t planes,
                                        int32_t width, int32_t pixel, int32_t multiplier, int32_t block,
                                        int32_t plane) {
    for (int32_t i = 0; i < 4 * planes; i++) {
        for (int32_t x = 0; x < width; x++) {
            for (int32_t c = 0; c < block; c++) {
                to[i / 4 * plane + (x * block + c) * 4 + i % 4] = rows[i][x * pixel + (channel + c) / multiplier];
            }
        }
    }
}

/* `rows` of outputs of a band, whose planes are `band` bytes apart; `tile` columns of outputs of a tile; windows `step`
 * rows and `stride` columns apart, their taps `down` rows and `across` columns, as are the outputs of a band and a tile;
 * vectors of columns of `height` rows. */
MOTE_ALWAYS_INLINE void mote_taps_c(const mote_taps_call_t *call, int32_t rows, int32_t band, int32_t step,
                                    int32_t tile, int32_t stride, int32_t height, int32_t gathers, int32_t column,
                                    int32_t down, int32_t across,
                                    int8_t (*lane)(const mote_lanes_t *, int32_t, const int32_t *, int32_t),
                                    int32_t shift, int32_t single) {
    const mote_depthwise_taps_t *const p = call->layer;
    for (int32_t c = 0; c < call->channels; c++) {
        int32_t constants[3] = {0, 0, 0};
        for (int32_t i = 0; i < p->each; i++) {
            constants[i] = call->constants[single ? 4 * (c / 4 * p->each + i) + c % 4 : c * p->each + i];
        }
        for (int32_t n = 0; n < 4 * p->quads; n++) {
            const int32_t y = p->row[n], x = p->place[n] / p->channels;
            const int32_t high = y / down % rows, wide = x / across % tile;
            const int32_t number = y / (rows * down) * down + y % down, first = x - wide * across;
            const int8_t *const in = call->in + number * band + first * stride * column + 4 * c;
            const int8_t *const w = call->weights + c * p->filter - high * step - wide * stride * height;
            int32_t sum = 0;
            for (int32_t k = 0; k < gathers; k++) {
                for (int32_t i = 0; i < 16; i++) {
                    sum += in[k * 16 / height * column * across + call->lane[i / 4] + i % 4] * w[16 * k + i];
                }
            }
            call->outs[y][p->place[n] + call->offset + c] = lane(call->lanes, sum, constants, shift);
        }
    }
}

static inline void mote_taps_table(int8_t *const *outs, const uint8_t *row, const int16_t *place, int32_t *table,
                                   int32_t quads) {
    (void)outs, (void)row, (void)place, (void)table, (void)quads;
}

static inline void mote_taps_fill(int8_t *to, int32_t value, int32_t n) { memset(to, (int)value, (size_t)n); }
#endif

/* The parts of the scratch memory. */
typedef struct {
    int32_t *sums, *table;
    int8_t *planes, *zeros;
} mote_taps_parts_t;

static inline mote_taps_parts_t mote_taps_parts(const mote_depthwise_taps_t *p, int32_t *scratch) {
    mote_taps_parts_t parts;
    parts.sums = scratch;
    parts.table = scratch + (p->single ? p->block : p->quads * p->block + 16);
    parts.planes = (int8_t *)(parts.table + 4 * p->quads);
    parts.zeros = parts.planes + p->planes * p->columns * 4 * p->block;
    return parts;
}

/* The padding beside the image, and the row of zeros. */
static inline void mote_taps_begin(const mote_depthwise_taps_t *p, const mote_taps_parts_t *parts) {
    const int32_t column = 4 * p->block, behind = p->before + p->width;
    for (int32_t i = 0; i < p->planes; i++) {
        int8_t *const plane = parts->planes + i * p->columns * column;
        mote_taps_fill(plane, p->zero, p->before * column);
        mote_taps_fill(plane + behind * column, p->zero, (p->columns - behind) * column);
    }
    mote_taps_fill(parts->zeros, p->zero, p->width * p->channels);
}

/* Up to a group of rows: `planes` and `all` have room for the rows of all planes and for a group of outputs. */
MOTE_ALWAYS_INLINE void mote_taps_group(const mote_depthwise_taps_t *p, const int8_t *const *rows,
                                        int8_t *const *outs, int32_t count, const mote_taps_parts_t *parts,
                                        mote_taps_columns_t *columns, mote_taps_code_t *code, const int8_t **planes,
                                        int8_t **all) {
    const int32_t spread = p->rows.spread, column = 4 * p->block;
    const int32_t reads = (count - 1) * p->rows.step + (p->rows.taps - 1) * spread + 1;
    mote_taps_call_t call;
    for (int32_t i = 0; i < 4 * p->planes; i++) {
        const int32_t row = p->first[i / 4] + i % 4 * spread;
        planes[i] = row < reads && rows[row] != NULL ? rows[row] : parts->zeros;
    }
    for (int32_t i = 0; i < p->group; i++) {
        all[i] = i < count ? outs[i] : parts->zeros;
    }
    mote_taps_table(all, p->row, p->place, parts->table, p->quads);
    call.sums = parts->sums;
    call.table = parts->table;
    call.lanes = &p->lanes;
    call.lane = p->lane;
    call.layer = p;
    call.outs = all;
    for (int32_t c = 0; c < p->channels; c += p->block) {
        const int32_t channel = mote_min(c, p->channels - p->block); /* the last ones repeat some */
        if (count < p->group && c > 0) { /* outputs that nobody asked for are there now */
            mote_taps_fill(parts->zeros, p->zero, p->width * p->channels);
        }
        columns(planes, parts->planes + p->before * column, channel, p->planes);
        call.weights = p->weights + p->ahead + c * p->filter;
        call.constants = p->constants + c * p->each;
        call.channels = p->block - (c - channel);
        for (int32_t x = 0; x < p->out_width; x += p->wide) {
            const int32_t from = mote_min(x, p->out_width - p->wide);
            call.in = parts->planes + from * p->stride * column + 4 * (c - channel);
            call.offset = from * p->channels + c;
            code(&call);
        }
    }
}

/* Pointers to n rows of inputs from those under output row y on. */
static inline void mote_taps_rows_of(const mote_depthwise_taps_t *p, const int8_t *in, int32_t y, const int8_t **rows,
                                     int32_t n) {
    int32_t row = y * p->rows.step - p->rows.pad;
    for (int32_t i = 0; i < n; i++, row++) {
        rows[i] = row >= 0 && row < p->rows.in_rows ? in + row * p->rows.in_stride : NULL;
    }
}

/* What a model instantiates, beside its code: rows of inputs under a group of outputs, and rows of all planes. */
#define MOTE_TAPS(id, columns, code, reads, planed, group) \
    typedef mote_depthwise_taps_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id##_rows(const mote_depthwise_taps_t *p, const int8_t *const *rows, \
                                        int8_t *const *outs, int32_t count, int32_t *scratch) { \
        const mote_taps_parts_t parts = mote_taps_parts(p, scratch); \
        const int8_t *planes[planed]; \
        int8_t *all[group]; \
        mote_taps_begin(p, &parts); \
        mote_taps_group(p, rows, outs, count, &parts, mote_##columns, mote_##code, planes, all); \
    } \
    MOTE_UNUSED static inline void mote_##id##_row(const mote_depthwise_taps_t *p, const int8_t *const *rows, \
                                                   int8_t *out, int32_t *scratch) { \
        int8_t *outs[1]; \
        outs[0] = out; \
        mote_##id##_rows(p, rows, outs, 1, scratch); \
    } \
    MOTE_NOINLINE void mote_##id(const mote_depthwise_taps_t *p, const int8_t *in, int8_t *out, int32_t lo, \
                                 int32_t hi, int32_t *scratch) { \
        const mote_taps_parts_t parts = mote_taps_parts(p, scratch); \
        const int8_t *rows[reads], *planes[planed]; \
        int8_t *outs[group], *all[group]; \
        mote_taps_begin(p, &parts); \
        for (int32_t y = lo; y < hi; y += group) { \
            const int32_t count = mote_min(group, hi - y); \
            mote_taps_rows_of(p, in, y, rows, reads); \
            for (int32_t i = 0; i < count; i++) { \
                outs[i] = out + (y + i) * p->rows.out_stride; \
            } \
            mote_taps_group(p, rows, outs, count, &parts, mote_##columns, mote_##code, planes, all); \
        } \
    }

/* The same of windows with dilated rows, for whole tensors. */
#define MOTE_TAPS_WHOLE(id, columns, code, reads, planed, group) \
    MOTE_TAPS(id##_part, columns, code, reads, planed, group) \
    typedef mote_depthwise_taps_t mote_##id##_t; \
    MOTE_UNUSED static inline void mote_##id(const mote_depthwise_taps_t *p, const int8_t *in, int8_t *out, \
                                             int32_t *scratch) { \
        mote_##id##_part(p, in, out, 0, p->rows.out_rows, scratch); \
    }

#endif
