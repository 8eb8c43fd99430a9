/* mote_winograd.h: what the fast 3x3 convolutions share: tiles, the matrix product, requantization in two steps.
 *
 * A tile of outputs is computed from a patch of inputs in three steps: the patch is transformed (additions only), each
 * of the transform's positions is multiplied with transformed weights and summed over the input channels, and the sums
 * are transformed back. Everything is integer and exact; the transforms differ between the kernels.
 *
 * Four tiles make a block, which every pair of output channels is applied to. The block's transformed inputs are a
 * stream of words, read once for each pair of channels: for each position, for each pair of input channels (0 and 2,
 * 1 and 3 of each four), the two values of four tiles; in between, after 16 pairs at most and at the end of each
 * position, two words that say what comes next and where sums go. The weights are another stream: for each pair of
 * output channels their biases, then for each position, for each pair of input channels, one word for either.
 *
 * Sums may go on over several positions, with what there is stored in between: sums and differences that the inverse
 * transform would need then cost one instruction less, or none.
 */
#ifndef MOTE_WINOGRAD_H
#define MOTE_WINOGRAD_H

#include "mote_common.h"

#if defined(__GNUC__)
/* Functions that run a few times for each block: small rather than fast. */
#define MOTE_WINOGRAD_SMALL __attribute__((cold, noinline, unused)) static
#else
#define MOTE_WINOGRAD_SMALL static inline
#endif

/* Sums to int8: (sum * mult + (add << 32)) >> 32, then a shift that is part of the code. In linear layers `add` is what
 * sums below zero want, the others `fix` more. */
typedef struct {
    int32_t mult, add, fix;
} mote_winograd_channel_t;

typedef struct {
    mote_window_t rows;
    mote_span_t cols;
    int32_t in_channels, channels; /* multiples of 4 and of 2 */
    int32_t in_pixel;              /* bytes of an input pixel: where that is less, weights of the rest are zero */
    int32_t in_zero;
    int32_t tile_rows; /* rows of tiles that are computed at once; more where a row has fewer than four tiles */
    const int32_t *weights; /* biases, and pairs of 16-bit weights */
    const mote_winograd_channel_t *channel;
} mote_winograd_t;

typedef struct {
    mote_winograd_t layer;
    const int32_t *biases; /* in place of those before weights */
} mote_winograd_apart_t;

/* Words between transformed inputs: what to do with the next 2 * n pairs. NEXT + n: store the sums and begin new ones;
 * KEEP + n: store the sums and add to them; MORE + n: add to them. n is 1 to 4, or 8. */
enum { MOTE_WINOGRAD_END = 0, MOTE_WINOGRAD_NEXT = 0, MOTE_WINOGRAD_KEEP = 8, MOTE_WINOGRAD_MORE = 16 };

#if MOTE_DSP
/* Two channels' products with four tiles, for two input channels: 13 instructions for 16 products, in 16 cycles of a
 * Cortex-M4, which takes one for a load behind another whose pointer is not the one that just moved.
 * r8: inputs, r9: weights, r0-r3 and r4-r7: the two channels' sums. */
#define MOTE_WINOGRAD_PAIR \
    "ldr r10, [r9], #4\n\t" \
    "ldr r12, [r8], #4\n\t" \
    "ldr r11, [r9], #4\n\t" \
    "ldr lr, [r8], #4\n\t" \
    "smlad r0, r12, r10, r0\n\t" \
    "smlad r4, r12, r11, r4\n\t" \
    "smlad r1, lr, r10, r1\n\t" \
    "smlad r5, lr, r11, r5\n\t" \
    "ldrd r12, lr, [r8], #8\n\t" \
    "smlad r2, r12, r10, r2\n\t" \
    "smlad r6, r12, r11, r6\n\t" \
    "smlad r3, lr, r10, r3\n\t" \
    "smlad r7, lr, r11, r7\n\t"

#define MOTE_WINOGRAD_STORE "stm lr, {r0-r7}\n\t"

/* Store the sums, then begin new ones. */
#define MOTE_WINOGRAD_FIRST \
    MOTE_WINOGRAD_STORE \
    "ldm r9!, {r10, r11}\n\t" \
    "ldm r8!, {r0-r3}\n\t" \
    "smuad r4, r0, r11\n\t" \
    "smuad r5, r1, r11\n\t" \
    "smuad r6, r2, r11\n\t" \
    "smuad r7, r3, r11\n\t" \
    "smuad r0, r0, r10\n\t" \
    "smuad r1, r1, r10\n\t" \
    "smuad r2, r2, r10\n\t" \
    "smuad r3, r3, r10\n\t"

/* The whole block against two output channels; gives where the next channels' weights begin. `control` loads r12 (what
 * comes next) and lr (where sums go); a jump by a table then leads back to where so many pairs are left. That takes
 * four instructions for each position, and three for each further 16 pairs. `biases` loads those of the channels. */
#define MOTE_WINOGRAD_OWN_BIASES "ldm r9!, {r0, r4}\n\t"
#define MOTE_WINOGRAD_LEARNED_BIASES \
    "add r9, #8\n\t" \
    "ldm r2, {r0, r4}\n\t"
#define MOTE_WINOGRAD_PRODUCTS(biases, control) \
    "push {r4-r11, lr}\n\t" \
    "mov r8, r0\n\t" \
    "mov r9, r1\n\t" biases \
    "mov r1, r0\n\t" \
    "mov r2, r0\n\t" \
    "mov r3, r0\n\t" \
    "mov r5, r4\n\t" \
    "mov r6, r4\n\t" \
    "mov r7, r4\n\t" \
    "b 30f\n" \
    "16:\n\t" MOTE_WINOGRAD_PAIR \
    "15:\n\t" MOTE_WINOGRAD_PAIR MOTE_WINOGRAD_PAIR MOTE_WINOGRAD_PAIR MOTE_WINOGRAD_PAIR \
    MOTE_WINOGRAD_PAIR MOTE_WINOGRAD_PAIR MOTE_WINOGRAD_PAIR \
    "8:\n\t" MOTE_WINOGRAD_PAIR \
    "7:\n\t" MOTE_WINOGRAD_PAIR \
    "6:\n\t" MOTE_WINOGRAD_PAIR \
    "5:\n\t" MOTE_WINOGRAD_PAIR \
    "4:\n\t" MOTE_WINOGRAD_PAIR \
    "3:\n\t" MOTE_WINOGRAD_PAIR \
    "2:\n\t" MOTE_WINOGRAD_PAIR \
    "1:\n\t" MOTE_WINOGRAD_PAIR \
    "30:\n\t" control \
    "tbh [pc, r12, lsl #1]\n" \
    "31:\n\t" \
    ".short (40f - 31b) / 2, (42f - 31b) / 2, (44f - 31b) / 2, (46f - 31b) / 2, (48f - 31b) / 2\n\t" \
    ".short 0, 0, 0, (49f - 31b) / 2\n\t" \
    ".short (52f - 31b) / 2, (54f - 31b) / 2, (56f - 31b) / 2, (58f - 31b) / 2, 0, 0, 0, (59f - 31b) / 2\n\t" \
    ".short (62f - 31b) / 2, (64f - 31b) / 2, (66f - 31b) / 2, (68f - 31b) / 2, 0, 0, 0, (69f - 31b) / 2\n" \
    "40:\n\t" MOTE_WINOGRAD_STORE /* MOTE_WINOGRAD_END */ \
    "mov r0, r9\n\t" \
    "pop {r4-r11, pc}\n" \
    "42:\n\t" MOTE_WINOGRAD_FIRST "b 1b\n" /* MOTE_WINOGRAD_NEXT */ \
    "44:\n\t" MOTE_WINOGRAD_FIRST "b 3b\n" \
    "46:\n\t" MOTE_WINOGRAD_FIRST "b 5b\n" \
    "48:\n\t" MOTE_WINOGRAD_FIRST "b 7b\n" \
    "49:\n\t" MOTE_WINOGRAD_FIRST "b 15b\n" \
    "52:\n\t" MOTE_WINOGRAD_STORE /* MOTE_WINOGRAD_KEEP, then MOTE_WINOGRAD_MORE */ \
    "62:\n\t" \
    "b 2b\n" \
    "54:\n\t" MOTE_WINOGRAD_STORE \
    "64:\n\t" \
    "b 4b\n" \
    "56:\n\t" MOTE_WINOGRAD_STORE \
    "66:\n\t" \
    "b 6b\n" \
    "58:\n\t" MOTE_WINOGRAD_STORE \
    "68:\n\t" \
    "b 8b\n" \
    "59:\n\t" MOTE_WINOGRAD_STORE \
    "69:\n\t" \
    "b 16b\n\t"

__attribute__((naked, noinline, unused)) static const uint32_t *mote_winograd_products(
    const uint32_t *inputs __attribute__((unused)), const uint32_t *weights __attribute__((unused))) {
    __asm__ volatile(MOTE_WINOGRAD_PRODUCTS(MOTE_WINOGRAD_OWN_BIASES, "ldm r8!, {r12, lr}\n\t"));
}

/* Weights are used more than once: a third word says how far on those of the next position are. */
__attribute__((naked, noinline, unused)) static const uint32_t *mote_winograd_products_seeking(
    const uint32_t *inputs __attribute__((unused)), const uint32_t *weights __attribute__((unused))) {
    __asm__ volatile(MOTE_WINOGRAD_PRODUCTS(MOTE_WINOGRAD_OWN_BIASES, "ldm r8!, {r11, r12, lr}\n\t"
                                                                      "add r9, r11\n\t"));
}

/* Both with biases that are learned, in place of those before the weights. */
__attribute__((naked, noinline, unused)) static const uint32_t *mote_winograd_products_learned(
    const uint32_t *inputs __attribute__((unused)), const uint32_t *weights __attribute__((unused)),
    const int32_t *biases __attribute__((unused))) {
    __asm__ volatile(MOTE_WINOGRAD_PRODUCTS(MOTE_WINOGRAD_LEARNED_BIASES, "ldm r8!, {r12, lr}\n\t"));
}

__attribute__((naked, noinline, unused)) static const uint32_t *mote_winograd_products_seeking_learned(
    const uint32_t *inputs __attribute__((unused)), const uint32_t *weights __attribute__((unused)),
    const int32_t *biases __attribute__((unused))) {
    __asm__ volatile(MOTE_WINOGRAD_PRODUCTS(MOTE_WINOGRAD_LEARNED_BIASES, "ldm r8!, {r11, r12, lr}\n\t"
                                                                          "add r9, r11\n\t"));
}

/* The first of these, written for a number of input channels (armv7em/gemm/winograd_assembly.py). */
#define MOTE_WINOGRAD_CODE(id, text) \
    __attribute__((naked, noinline, unused, aligned(4))) static const uint32_t *mote_##id##_products( \
        const uint32_t *inputs __attribute__((unused)), const uint32_t *weights __attribute__((unused))) { \
        __asm__ volatile(text); \
    }

/* How the words between transformed inputs name a place. */
static inline uint32_t mote_winograd_place(const uint32_t *inputs, const uint32_t *to) {
    (void)inputs;
    return (uint32_t)(uintptr_t)to;
}
#else
/* Sums wrap as registers do: a block with fewer than four tiles has leftovers in the others' places. */
static inline uint32_t mote_winograd_smlad(uint32_t a, uint32_t b, uint32_t sum) {
    const int32_t low = (int32_t)(int16_t)(a & 0xffff) * (int16_t)(b & 0xffff);
    const int32_t high = (int32_t)(int16_t)(a >> 16) * (int16_t)(b >> 16);
    return sum + (uint32_t)low + (uint32_t)high;
}

static inline const uint32_t *mote_winograd_multiply(uint32_t *inputs, const uint32_t *weights, uint32_t a, uint32_t b,
                                                     int32_t seeking) {
    uint32_t sum[8] = {a, a, a, a, b, b, b, b};
    uint32_t *x = inputs;
    weights += 2;
    for (;;) {
        const int32_t seek = seeking ? (int32_t)*x++ : 0;
        const uint32_t what = x[0];
        weights += seek / 4;
        if (what <= MOTE_WINOGRAD_MORE) {
            memcpy(inputs + (int32_t)x[1], sum, sizeof sum);
        }
        if (what <= MOTE_WINOGRAD_KEEP) {
            memset(sum, 0, sizeof sum);
        }
        if (what == MOTE_WINOGRAD_END) {
            return weights;
        }
        x += 2;
        for (uint32_t pairs = 2 * ((what - 1) % 8 + 1); pairs > 0; pairs--, weights += 2) {
            for (int32_t i = 0; i < 4; i++, x++) {
                sum[i] = mote_winograd_smlad(*x, weights[0], sum[i]);
                sum[i + 4] = mote_winograd_smlad(*x, weights[1], sum[i + 4]);
            }
        }
    }
}

static inline const uint32_t *mote_winograd_products(uint32_t *inputs, const uint32_t *weights) {
    return mote_winograd_multiply(inputs, weights, weights[0], weights[1], 0);
}

static inline const uint32_t *mote_winograd_products_seeking(uint32_t *inputs, const uint32_t *weights) {
    return mote_winograd_multiply(inputs, weights, weights[0], weights[1], 1);
}

static inline const uint32_t *mote_winograd_products_learned(uint32_t *inputs, const uint32_t *weights,
                                                             const int32_t *biases) {
    return mote_winograd_multiply(inputs, weights, (uint32_t)biases[0], (uint32_t)biases[1], 0);
}

static inline const uint32_t *mote_winograd_products_seeking_learned(uint32_t *inputs, const uint32_t *weights,
                                                                     const int32_t *biases) {
    return mote_winograd_multiply(inputs, weights, (uint32_t)biases[0], (uint32_t)biases[1], 1);
}

#define MOTE_WINOGRAD_CODE(id, text) \
    MOTE_UNUSED static inline const uint32_t *mote_##id##_products(uint32_t *inputs, const uint32_t *weights) { \
        return mote_winograd_products(inputs, weights); \
    }

static inline uint32_t mote_winograd_place(const uint32_t *inputs, const uint32_t *to) {
    return (uint32_t)(int32_t)(to - inputs);
}

/* Two 16-bit values at once. */
static inline uint32_t mote_winograd_add2(uint32_t a, uint32_t b) {
    return ((a + b) & 0xffff) | ((a & 0xffff0000u) + (b & 0xffff0000u));
}

static inline uint32_t mote_winograd_sub2(uint32_t a, uint32_t b) {
    return ((a - b) & 0xffff) | ((a & 0xffff0000u) - (b & 0xffff0000u));
}

static inline int8_t mote_winograd_narrow(uint32_t sum, const mote_winograd_channel_t *q, int32_t shift) {
    const int32_t y = (int32_t)sum, add = y < 0 ? q->add : q->add + q->fix;
    return mote_clamp((int32_t)((uint32_t)add + (uint32_t)(((int64_t)y * q->mult) >> 32)) >> shift, -128, 127);
}
#endif

/* How many of the pairs that are left of a position come without a word in between. */
static inline int32_t mote_winograd_next(int32_t pairs) { return pairs % 8 ? pairs % 8 : pairs % 16 ? 8 : 16; }

/* Words of a position: four for each pair, and `control` at the end of each run of pairs. */
MOTE_WINOGRAD_SMALL int32_t mote_winograd_stride(int32_t in_channels, int32_t control) {
    int32_t words = 2 * in_channels;
    for (int32_t pairs = in_channels / 2; pairs > 0; pairs -= mote_winograd_next(pairs)) {
        words += control;
    }
    return words;
}

/* Where the transformed inputs of four channels go, one group after another: [even, odd][tile] words. */
typedef struct {
    uint32_t *to;
    int32_t pairs, next, control;
} mote_winograd_place_t;

static inline mote_winograd_place_t mote_winograd_first(int32_t in_channels, int32_t control, uint32_t *inputs) {
    const int32_t pairs = in_channels / 2;
    const mote_winograd_place_t place = {inputs + control, pairs, mote_winograd_next(pairs), control};
    return place;
}

static inline void mote_winograd_further(mote_winograd_place_t *p) {
    p->to += 8;
    p->pairs -= 2;
    p->next -= 2;
    if (p->next == 0) {
        p->to += p->control;
        p->next = mote_winograd_next(p->pairs);
    }
}

/* Where the results of neighbouring tiles go: what the inverse transforms read. */
typedef struct {
    int32_t pixel, pixel3; /* from one pixel to the next, and three times that */
    int32_t pairs;         /* pairs of tiles */
    int8_t *row[4];        /* the inverse transform leaves each two channels further */
} mote_winograd_to_t;

/* Neighbouring tiles of a block, in one row of tiles. */
typedef struct {
    mote_winograd_to_t to;
    int32_t lane, tiles; /* of the block's four */
    int32_t x, y;        /* the first output pixel, in the rows that are computed */
    int32_t direct;      /* all tiles are inside the image: no copy is needed */
} mote_winograd_run_t;

typedef struct {
    const mote_winograd_t *p;
    const int8_t *const *rows;
    int8_t *const *out;
    int32_t count, size;               /* output rows; rows and columns of a tile */
    uint32_t *sums, *columns, *inputs; /* in scratch memory */
    int8_t *copy, *fill;               /* a block of two channels' outputs; a row of padding */
    int32_t filled;                    /* which is there */
    int32_t x, y;                      /* of the next tile */
    int32_t runs;
    mote_winograd_run_t run[4];
} mote_winograd_work_t;

static inline void mote_winograd_start(mote_winograd_work_t *w, const mote_winograd_t *p, int32_t size, int32_t sums,
                                       int32_t columns, int32_t inputs, uint32_t *scratch) {
    w->p = p;
    w->size = size;
    w->sums = scratch;
    w->columns = w->sums + 8 * sums + 2;
    w->copy = (int8_t *)(w->columns + columns);
    w->inputs = w->columns + columns + 2 * size * size;
    w->fill = (int8_t *)(w->inputs + inputs);
    w->filled = 0;
}

/* The words between transformed inputs. `order` names the weights and the sum of each position, then the end of the
 * weights; NULL: each position has its own. `keep` has a bit for each position, again and again after `period`: it adds
 * to the sum of the position before. */
MOTE_WINOGRAD_SMALL void mote_winograd_control(const mote_winograd_work_t *w, int32_t positions, int32_t control,
                                               const uint8_t (*order)[2], uint32_t keep, int32_t period) {
    const int32_t channels = w->p->in_channels;
    uint32_t *at = w->inputs;
    int32_t weights = 0, sum = 0;
    for (int32_t i = 0; i <= positions; i++) {
        const int32_t from = order == NULL ? i : order[i][0], to = order == NULL ? i : order[i][1];
        const uint32_t store = keep >> i % period & 1 ? MOTE_WINOGRAD_KEEP : MOTE_WINOGRAD_NEXT;
        uint32_t what = to == sum ? MOTE_WINOGRAD_MORE : store;
        int32_t seek = (from - weights) * 4 * channels, pairs = i < positions ? channels / 2 : 0;
        do {
            const int32_t next = pairs > 0 ? mote_winograd_next(pairs) : 0;
            if (control == 3) {
                *at++ = (uint32_t)seek;
            }
            *at++ = pairs > 0 ? what + (uint32_t)next / 2 : MOTE_WINOGRAD_END;
            *at++ = mote_winograd_place(w->inputs, w->sums + 8 * sum);
            at += 4 * next;
            pairs -= next;
            what = MOTE_WINOGRAD_MORE;
            seek = 0;
        } while (pairs > 0);
        weights = from + 1;
        sum = to;
    }
}

/* The rows to compute next. */
static inline void mote_winograd_take(mote_winograd_work_t *w, const int8_t *const *rows, int8_t *const *out,
                                      int32_t count) {
    w->rows = rows;
    w->out = out;
    w->count = count;
    w->x = w->y = 0;
}

/* The next block of four tiles; false where there is none. */
MOTE_WINOGRAD_SMALL int32_t mote_winograd_block(mote_winograd_work_t *w) {
    const int32_t size = w->size, width = w->p->cols.out_size, channels = w->p->channels;
    int32_t lane = 0;
    mote_winograd_run_t *r = w->run;
    while (lane < 4 && w->y < w->count) {
        const int32_t n = mote_min(4 - lane, (width - w->x + size - 1) / size), x = w->x, y = w->y;
        r->lane = lane;
        r->tiles = n;
        r->x = x;
        r->y = y;
        r->direct = x + n * size <= width && y + size <= w->count && n % 2 == 0;
        r->to.pixel = r->direct ? channels : 2;
        r->to.pixel3 = 3 * r->to.pixel;
        r->to.pairs = (n + 1) / 2;
        for (int32_t i = 0; r->direct && i < size; i++) {
            r->to.row[i] = w->out[y + i] + x * channels;
        }
        lane += n;
        w->x += n * size;
        if (w->x >= width) {
            w->x = 0;
            w->y += size;
        }
        r++;
    }
    w->runs = (int32_t)(r - w->run);
    return w->runs;
}

/* The last channels of the last pixel of some rows, at `offset`: as many as there are of four. The copies lie where
 * outputs are copied to later. */
MOTE_WINOGRAD_SMALL void mote_winograd_last(const mote_winograd_work_t *w, const int8_t *const *rows, int32_t taps,
                                            int32_t offset, const int8_t **copies) {
    int8_t *to = w->copy;
    for (int32_t i = 0; i < taps; i++, to += 4) {
        memset(to, 0, 4);
        memcpy(to, rows[i] + offset, (size_t)(w->p->in_pixel % 4));
        copies[i] = to;
    }
}

/* A row of padding, once. */
MOTE_WINOGRAD_SMALL void mote_winograd_fill(mote_winograd_work_t *w) {
    if (!w->filled) {
        memset(w->fill, (int)w->p->in_zero, (size_t)(w->p->cols.in_size * w->p->in_pixel));
        w->filled = 1;
    }
}

/* Pointers to the rows under a run of tiles; those that are not there hold the zero point. */
MOTE_WINOGRAD_SMALL void mote_winograd_rows(mote_winograd_work_t *w, const mote_winograd_run_t *r, int32_t taps,
                                            const int8_t **rows) {
    const int32_t step = w->p->rows.step, count = (w->count - 1) * step + 3;
    for (int32_t i = 0, k = r->y * step; i < taps; i++, k++) {
        rows[i] = k < count ? w->rows[k] : NULL;
        if (rows[i] == NULL) {
            mote_winograd_fill(w);
            rows[i] = w->fill;
        }
    }
}

/* Results for tiles that are partly outside the image go to a copy first; `c` is the first of two channels. */
MOTE_WINOGRAD_SMALL void mote_winograd_begin_copy(const mote_winograd_work_t *w, mote_winograd_run_t *r) {
    for (int32_t i = 0; i < w->size; i++) {
        r->to.row[i] = w->copy + i * w->size * 8;
    }
}

MOTE_WINOGRAD_SMALL void mote_winograd_end_copy(const mote_winograd_work_t *w, const mote_winograd_run_t *r,
                                                int32_t c) {
    const int32_t channels = w->p->channels, size = w->size;
    const int32_t width = mote_min(r->tiles * size, w->p->cols.out_size - r->x);
    for (int32_t i = 0; i < size && r->y + i < w->count; i++) {
        const int8_t *from = w->copy + i * size * 8;
        int8_t *to = w->out[r->y + i] + r->x * channels + c;
        for (int32_t x = 0; x < width; x++, from += 2, to += channels) {
            to[0] = from[0];
            to[1] = from[1];
        }
    }
}

/* How many tiles a run has, as the transforms are told. */
#if MOTE_DSP
static inline uint32_t mote_winograd_flags(int32_t tiles) {
    return tiles == 4 ? 0 : tiles == 3 ? (uint32_t)1 << 31 : tiles == 2 ? (uint32_t)1 << 29 : (uint32_t)1 << 30;
}
#else
static inline int32_t mote_winograd_flags(int32_t tiles) { return tiles; }
#endif

/* How many of the columns under a run of tiles are before and inside the image, and where in a row the first of these
 * is. ragged: the last of them is the image's, and its channels do not fill words. */
typedef struct {
    int32_t before, inside, offset, ragged;
} mote_winograd_across_t;

MOTE_WINOGRAD_SMALL mote_winograd_across_t mote_winograd_across(const mote_winograd_work_t *w,
                                                                const mote_winograd_run_t *r, int32_t columns) {
    const mote_span_t *const s = &w->p->cols;
    const int32_t first = r->x * s->step - s->pad, pixel = w->p->in_pixel, left = s->in_size - first;
    mote_winograd_across_t a;
    a.before = mote_min(first < 0 ? -first : 0, columns);
    a.inside = mote_min(columns, left < a.before ? a.before : left) - a.before;
    a.offset = (first + a.before) * pixel;
    a.ragged = pixel % 4 != 0 && a.inside > 0 && left <= columns;
    return a;
}

#if MOTE_DSP
/* Two-instruction requantization of a register, with r1: mult, r2: add; linear layers add a constant that depends on
 * the sign first (r3: fix, r12: free). `at` is where mult, add and fix lie on the stack. */
#define MOTE_WINOGRAD_CONSTANTS_relu(at) "ldrd r1, r2, [sp, #" at "]\n\t"
#define MOTE_WINOGRAD_CONSTANTS_linear(at) "ldrd r1, r2, [sp, #" at "]\n\tldr r3, [sp, #" at " + 8]\n\t"
#define MOTE_WINOGRAD_SCALE_relu(y, mult, add) "smmla " y ", " y ", " mult ", " add "\n\t"
#define MOTE_WINOGRAD_SCALE_linear(y, mult, add) \
    "bic r12, r3, " y ", asr #31\n\t" \
    "add r12, " add "\n\t" \
    "smmla " y ", " y ", " mult ", r12\n\t"
#define MOTE_WINOGRAD_SATURATE(y, shift) "ssat " y ", #8, " y ", asr #" #shift "\n\t"

#define MOTE_WINOGRAD_SCALE8(kind) \
    MOTE_WINOGRAD_SCALE_##kind("r4", "r1", "r2") MOTE_WINOGRAD_SCALE_##kind("r5", "r1", "r2") \
    MOTE_WINOGRAD_SCALE_##kind("r6", "r1", "r2") MOTE_WINOGRAD_SCALE_##kind("r7", "r1", "r2") \
    MOTE_WINOGRAD_SCALE_##kind("r8", "r1", "r2") MOTE_WINOGRAD_SCALE_##kind("r9", "r1", "r2") \
    MOTE_WINOGRAD_SCALE_##kind("r10", "r1", "r2") MOTE_WINOGRAD_SCALE_##kind("r11", "r1", "r2")

#define MOTE_WINOGRAD_SATURATE8(shift) \
    MOTE_WINOGRAD_SATURATE("r4", shift) MOTE_WINOGRAD_SATURATE("r5", shift) \
    MOTE_WINOGRAD_SATURATE("r6", shift) MOTE_WINOGRAD_SATURATE("r7", shift) \
    MOTE_WINOGRAD_SATURATE("r8", shift) MOTE_WINOGRAD_SATURATE("r9", shift) \
    MOTE_WINOGRAD_SATURATE("r10", shift) MOTE_WINOGRAD_SATURATE("r11", shift)

/* Sums of a position, two tiles. */
#define MOTE_WINOGRAD_LOAD(a, b, position) \
    "ldr " a ", [r0, #32 * " #position "]\n\tldr " b ", [r0, #32 * " #position " + 4]\n\t"

/* Two channels of up to four tiles of 2x2 outputs, two tiles at a time. MOTE_WINOGRAD_BACK_<form> transforms sums at r0
 * back: y00 to r4 and r5, y01 to r6 and r7, y10 to r8 and r9, y11 to r10 and r11; then 29 instructions for eight
 * outputs (46 in linear layers). On the stack: pixel, pixel3, pairs, two rows; mult, add, fix; q, to, sums and their
 * end. */
#define MOTE_WINOGRAD_INVERSE2(form, name, kind, shift) \
    __attribute__((naked, noinline, unused)) static void mote_##name##_inverse( \
        const uint32_t *sums __attribute__((unused)), const mote_winograd_channel_t *q __attribute__((unused)), \
        mote_winograd_to_t *to __attribute__((unused)), uint32_t *work __attribute__((unused))) { \
        __asm__ volatile( \
            "push {r4-r11, lr}\n\t" \
            "sub sp, #48\n\t" \
            "strd r1, r2, [sp, #32]\n\t" \
            "add r12, r0, #32\n\t" \
            "str r12, [sp, #44]\n" \
            "1:\n\t" /* a channel */ \
            "str r0, [sp, #40]\n\t" \
            "ldrd r1, r2, [sp, #32]\n\t" \
            "ldm r1!, {r8-r10}\n\t" \
            "ldm r2, {r3-r7}\n\t" \
            "stm sp, {r3-r10}\n\t" \
            "str r1, [sp, #32]\n" \
            "2:\n\t" /* two tiles */ \
            MOTE_WINOGRAD_BACK_##form \
            MOTE_WINOGRAD_CONSTANTS_##kind("20") MOTE_WINOGRAD_SCALE8(kind) MOTE_WINOGRAD_SATURATE8(shift) \
            "ldm sp, {r1, r2, r3, r12, lr}\n\t" \
            "strb r4, [r12]\n\t" \
            "strb r6, [r12, r1]\n\t" \
            "strb r5, [r12, r1, lsl #1]\n\t" \
            "strb r7, [r12, r2]\n\t" \
            "strb r8, [lr]\n\t" \
            "strb r10, [lr, r1]\n\t" \
            "strb r9, [lr, r1, lsl #1]\n\t" \
            "strb r11, [lr, r2]\n\t" \
            "add r0, #8\n\t" \
            "subs r3, #1\n\t" \
            "beq 3f\n\t" \
            "add r12, r12, r1, lsl #2\n\t" \
            "add lr, lr, r1, lsl #2\n\t" \
            "strd r3, r12, [sp, #8]\n\t" \
            "str lr, [sp, #16]\n\t" \
            "b 2b\n" \
            "3:\n\t" /* the next channel is one byte further */ \
            "ldr r2, [sp, #36]\n\t" \
            "ldrd r4, r5, [r2, #12]\n\t" \
            "add r4, #1\n\t" \
            "add r5, #1\n\t" \
            "strd r4, r5, [r2, #12]\n\t" \
            "ldrd r0, r1, [sp, #40]\n\t" \
            "add r0, #16\n\t" \
            "cmp r0, r1\n\t" \
            "bne 1b\n\t" \
            "add sp, #48\n\t" \
            "pop {r4-r11, pc}\n\t"); \
    }
#else
#define MOTE_WINOGRAD_INVERSE2(form, name, kind, shift) \
    static inline void mote_##name##_inverse(const uint32_t *sums, const mote_winograd_channel_t *q, \
                                             mote_winograd_to_t *to, uint32_t *work) { \
        (void)work; \
        for (int32_t i = 0; i < 4 * to->pairs; i++) { /* tiles of one channel, then of the other */ \
            const int32_t channel = i / (2 * to->pairs), t = i % (2 * to->pairs); \
            uint32_t y[4] = {0}; \
            mote_##form##_back(sums + 4 * channel + t, y); \
            for (int32_t k = 0; k < 4; k++) { \
                int8_t *const at = to->row[k / 2] + (2 * t + k % 2) * to->pixel + channel; \
                *at = mote_winograd_narrow(y[k], q + channel, shift); \
            } \
        } \
        to->row[0] += 2; \
        to->row[1] += 2; \
    }
#endif

/* The next rows of a tensor that are computed at once, 16 at most, and the input rows under them. */
enum { MOTE_WINOGRAD_ROWS = 16 };

MOTE_WINOGRAD_SMALL int32_t mote_winograd_window(const mote_winograd_t *p, int32_t size, const int8_t *in,
                                                 int8_t *out, int32_t lo, int32_t hi, const int8_t **rows,
                                                 int8_t **to) {
    const mote_window_t *const w = &p->rows;
    int32_t image, row = mote_window_first(w, lo, &image);
    const int32_t left = (image + 1) * w->out_rows - lo;
    const int32_t count = mote_min(mote_min(hi - lo, left), size * p->tile_rows);
    in += image * w->in_rows * w->in_stride;
    for (int32_t i = 0; i < (count - 1) * w->step + 3; i++, row++) {
        rows[i] = row >= 0 && row < w->in_rows ? in + row * w->in_stride : NULL;
    }
    for (int32_t i = 0; i < count; i++) {
        to[i] = out + (lo + i) * w->out_stride;
    }
    return count;
}

/* The functions of one kernel: for several output rows at once, or one, wherever they and their input rows lie, and for
 * any rows of a tensor. `form` names the functions of the transform. */
#define MOTE_WINOGRAD_KERNEL(form, name, products, tile) MOTE_WINOGRAD_FUNCTIONS(form, name, name, products, tile)
#define MOTE_WINOGRAD_FUNCTIONS(form, name, id, products, tile) \
    MOTE_WINOGRAD_CALLS(form, name, id, products, MOTE_WINOGRAD_NO_BIASES, tile, mote_winograd_t)
#define MOTE_WINOGRAD_NO_BIASES(w, c)
/* The same with biases that lie apart from weights: those that are learned. */
#define MOTE_WINOGRAD_LEARNED(form, name, products, tile) \
    MOTE_WINOGRAD_CALLS(form, name, name##_apart, mote_##products##_learned, MOTE_WINOGRAD_BIASES, tile, \
                        mote_winograd_apart_t)
#define MOTE_WINOGRAD_BIASES(w, c) , ((const mote_winograd_apart_t *)(const void *)(w)->p)->biases + (c)
#define MOTE_WINOGRAD_CALLS(form, name, id, products, biases, tile, params_t) \
    typedef params_t mote_##id##_t; \
    MOTE_NOINLINE void mote_##id##_blocks(mote_winograd_work_t *w) { \
        while (mote_winograd_block(w)) { \
            const uint32_t *weights = (const uint32_t *)w->p->weights; \
            const int32_t channels = w->p->channels; \
            mote_##form##_forward(w); \
            for (int32_t c = 0; c < channels; c += 2) { \
                weights = products(w->inputs, weights biases(w, c)); \
                for (int32_t i = 0; i < w->runs; i++) { \
                    mote_winograd_run_t *const r = &w->run[i]; \
                    if (!r->direct) { \
                        mote_winograd_begin_copy(w, r); \
                    } \
                    mote_##name##_inverse(w->sums + r->lane, w->p->channel + c, &r->to, w->columns); \
                    if (!r->direct) { \
                        mote_winograd_end_copy(w, r, c); \
                    } \
                } \
            } \
        } \
    } \
    MOTE_NOINLINE void mote_##id##_rows(const params_t *p, const int8_t *const *rows, int8_t *const *out, \
                                        int32_t count, uint32_t *scratch) { \
        mote_winograd_work_t w; \
        mote_##form##_start(&w, (const mote_winograd_t *)(const void *)p, scratch); \
        mote_winograd_take(&w, rows, out, count); \
        mote_##id##_blocks(&w); \
    } \
    MOTE_NOINLINE void mote_##id##_row(const params_t *p, const int8_t *const *rows, int8_t *out, \
                                       uint32_t *scratch) { \
        mote_##id##_rows(p, rows, &out, 1, scratch); \
    } \
    MOTE_NOINLINE void mote_##id(const params_t *p, const int8_t *in, int8_t *out, int32_t lo, int32_t hi, \
                                 uint32_t *scratch) { \
        const int8_t *rows[MOTE_WINOGRAD_ROWS + 2]; \
        int8_t *to[MOTE_WINOGRAD_ROWS]; \
        mote_winograd_work_t w; \
        mote_##form##_start(&w, (const mote_winograd_t *)(const void *)p, scratch); \
        while (lo < hi) { \
            const int32_t count = mote_winograd_window(w.p, tile, in, out, lo, hi, rows, to); \
            mote_winograd_take(&w, rows, to, count); \
            mote_##id##_blocks(&w); \
            lo += count; \
        } \
    }

/* The same with code for a number of channels. */
#define MOTE_WINOGRAD_UNROLLED(form, name, channels, tile) \
    MOTE_WINOGRAD_FUNCTIONS(form, name, name##_##channels, mote_##form##_##channels##_products, tile)
/* The same with that code in an order for some core. */
#define MOTE_WINOGRAD_ORDERED(form, name, channels, order, tile) \
    MOTE_WINOGRAD_FUNCTIONS(form, name, name##_##channels##_##order, mote_##form##_##channels##_##order##_products, tile)

#endif
