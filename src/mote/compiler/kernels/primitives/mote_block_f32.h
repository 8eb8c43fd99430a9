/* mote_block_f32.h: sums of float32 products, four pixels by four channels at once.
 *
 * Every product is added to the sum of its output, one after another in the order of the reference, so that results do
 * not depend on how many outputs are computed at once. Whether a product is rounded before it is added is the core's
 * affair: see mote_add_product_f32.
 *
 *   x        the inputs of the first pixel; those of the others lie `apart` elements behind one another
 *   w        weights, those of four channels side by side
 *   n        how many products are added to each sum, at least one
 *   sums     four of each pixel, channels side by side
 *
 * `mote_block...` adds up over inputs that lie side by side and go into all four channels, `mote_taps...` over columns
 * that lie `step` elements behind one another and whose channels do not mix. `..._rows` goes through the rows of a window, NULL
 * where it hangs over the image's edge: of each, `each` inputs or columns from element `start` on, and after their weights those
 * of as many columns that are `left_out`. `mote_block_finish` makes outputs of the sums, pixels `channels` elements behind one
 * another, and zeros of the sums.
 *
 * What reads weights is defined for each kind of them: f32, and halves (mote_block_halves.h); mote_real_KIND(w) is the
 * number that a weight stands for.
 */
#ifndef MOTE_BLOCK_F32_H
#define MOTE_BLOCK_F32_H

#include "mote_fours_f32.h"

#define MOTE_BLOCK 4 /* pixels, and channels */
#define mote_real_f32(w) (w)

#include "mote_block_f32_helium.h"
#include "mote_block_f32_vfp.h"

#define MOTE_BLOCK_SUMS(kind, weight_t) \
    static inline void mote_block1_##kind(const float *x, const weight_t *w, int32_t n, float *sums) { \
        for (; n > 0; n--, x++, w += MOTE_BLOCK) { \
            for (int32_t c = 0; c < MOTE_BLOCK; c++) { \
                sums[c] = mote_add_product_f32(sums[c], *x, mote_real_##kind(w[c])); \
            } \
        } \
    } \
\
    static inline void mote_block4_##kind(const float *x, int32_t apart, const weight_t *w, int32_t n, float *sums) { \
        for (int32_t pixel = 0; pixel < MOTE_BLOCK; pixel++) { \
            mote_block1_##kind(x + pixel * apart, w, n, sums + pixel * MOTE_BLOCK); \
        } \
    } \
\
    static inline void mote_taps1_##kind(const float *x, int32_t step, const weight_t *w, int32_t n, float *sums) { \
        for (; n > 0; n--, x += step, w += MOTE_BLOCK) { \
            for (int32_t c = 0; c < MOTE_BLOCK; c++) { \
                sums[c] = mote_add_product_f32(sums[c], x[c], mote_real_##kind(w[c])); \
            } \
        } \
    } \
\
    static inline void mote_taps4_##kind(const float *x, int32_t apart, int32_t step, const weight_t *w, int32_t n, \
                                         float *sums) { \
        for (int32_t pixel = 0; pixel < MOTE_BLOCK; pixel++) { \
            mote_taps1_##kind(x + pixel * apart, step, w, n, sums + pixel * MOTE_BLOCK); \
        } \
    }

#define MOTE_BLOCK_ROWS(kind, weight_t) \
    static inline void mote_block4_rows_##kind(const float *const *rows, int32_t count, int32_t start, int32_t apart, \
                                               const weight_t *w, int32_t each, float *sums) { \
        for (; count > 0; count--, rows++, w += each * MOTE_BLOCK) { \
            if (*rows != NULL) { \
                mote_block4_##kind(*rows + start, apart, w, each, sums); \
            } \
        } \
    } \
\
    static inline void mote_taps4_rows_##kind(const float *const *rows, int32_t count, int32_t start, int32_t apart, \
                                              int32_t step, const weight_t *w, int32_t each, float *sums) { \
        for (; count > 0; count--, rows++, w += each * MOTE_BLOCK) { \
            if (*rows != NULL) { \
                mote_taps4_##kind(*rows + start, apart, step, w, each, sums); \
            } \
        } \
    } \
\
    static inline void mote_taps1_rows_##kind(const float *const *rows, int32_t count, int32_t start, int32_t step, \
                                              const weight_t *w, int32_t each, int32_t left_out, float *sums) { \
        for (; count > 0; count--, rows++, w += (each + left_out) * MOTE_BLOCK) { \
            if (*rows != NULL) { \
                mote_taps1_##kind(*rows + start, step, w, each, sums); \
            } \
        } \
    }

#ifndef mote_block4_f32
MOTE_BLOCK_SUMS(f32, float)

static inline void mote_block_finish(float *sums, const float *bias, float low, float high, float *out, int32_t channels,
                                     int32_t pixels) {
    for (; pixels > 0; pixels--, out += channels, sums += MOTE_BLOCK) {
        for (int32_t c = 0; c < MOTE_BLOCK; c++) {
            out[c] = mote_clamp_f32(sums[c] + bias[c], low, high);
            sums[c] = 0.0f;
        }
    }
}
#endif

#ifndef mote_block4_rows_f32
MOTE_BLOCK_ROWS(f32, float)
#endif

/* Four pixels side by side, or one: which columns of their windows lie inside the image. */
typedef struct {
    int32_t pixels, first; /* how many, and in which column the first one's window begins */
    int32_t lo[MOTE_BLOCK], hi[MOTE_BLOCK];
    int32_t all_lo, all_hi;   /* what all of them have */
    int32_t before, behind;   /* whether one of them has more before that, or behind it */
} mote_columns_t;

static inline int32_t mote_max(int32_t a, int32_t b) { return a > b ? a : b; }

/* Those from column x of the output on. */
static inline void mote_columns(const mote_span_t *s, int32_t x, mote_columns_t *found) {
    int32_t first = x * s->step - s->pad, lo = 0, hi = s->taps, least = s->taps, most = 0;
    found->pixels = s->out_size - x < MOTE_BLOCK ? 1 : MOTE_BLOCK;
    found->first = first;
    for (int32_t j = 0; j < found->pixels; j++, first += s->step) {
        found->lo[j] = mote_min(mote_span_lo(s, first), s->taps);
        found->hi[j] = mote_span_hi(s, first);
        lo = mote_max(lo, found->lo[j]);
        hi = mote_min(hi, found->hi[j]);
        least = mote_min(least, found->lo[j]);
        most = mote_max(most, found->hi[j]);
    }
    found->all_lo = lo;
    found->all_hi = mote_max(lo, hi);
    found->before = least < lo;
    found->behind = most > found->all_hi;
}

#endif
