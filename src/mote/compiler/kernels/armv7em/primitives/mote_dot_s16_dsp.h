/* mote_dot_s16_dsp.h: mote_dot_s16.h with DSP instructions: one widens the weights of neighbouring inputs. */
#ifndef MOTE_DOT_S16_DSP_H
#define MOTE_DOT_S16_DSP_H

#include "mote_dsp.h"

#if MOTE_DSP && !MOTE_WORDS_ALIGNED
typedef struct {
    uint32_t first, second; /* inputs 0 and 1, and 2 and 3 */
} mote_quad_s16_t;

static inline mote_quad_s16_t mote_quad_s16(const int16_t *x) {
    mote_quad_s16_t quad;
    __builtin_memcpy(&quad.first, x, 4);
    __builtin_memcpy(&quad.second, x + 2, 4);
    return quad;
}

static inline int32_t mote_quad_add(mote_quad_s16_t x, const int8_t *w, int32_t sum) {
    const uint32_t words = mote_load4(w);
    uint32_t first, second;
    __asm__("sxtb16 %0, %1" : "=r"(first) : "r"(words));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(second) : "r"(words));
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(x.first), "r"(first));
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(x.second), "r"(second));
    return sum;
}
#define mote_quad_add mote_quad_add

MOTE_HOT static inline int32_t mote_remember_s16(int16_t *kept, const int16_t *w, int32_t memory, int32_t newest,
                                                   int32_t sum) {
    const int32_t last = memory - 1;
    int32_t i = 0;
    for (; i + 1 < last; i += 2) {
        const uint32_t two = mote_load4((const int8_t *)(kept + i + 1));
        __builtin_memcpy(kept + i, &two, 4);
        sum = mote_smlad(two, mote_load4((const int8_t *)(w + i)), sum);
    }
    for (; i < last; i++) {
        kept[i] = kept[i + 1];
        sum = mote_wrapping_add(sum, (int32_t)kept[i] * w[i]);
    }
    kept[last] = (int16_t)newest;
    return mote_wrapping_add(sum, newest * w[last]);
}
#define mote_remember_s16 mote_remember_s16

/* Two products of each sum. */
static inline void mote_products_2_dsp(const int16_t *x, const int16_t *z, const int16_t *w, int32_t *sum) {
    const uint32_t two = mote_load4((const int8_t *)w);
    sum[0] = mote_smlad(mote_load4((const int8_t *)x), two, sum[0]);
    sum[1] = mote_smlad(mote_load4((const int8_t *)z), two, sum[1]);
}

MOTE_HOT static inline void mote_products_2_s16(const int16_t *x, int32_t step, const int16_t *w, int32_t n,
                                                int32_t *sum) {
    for (; n >= 8; n -= 8, x += 8, w += 8) {
        mote_products_2_dsp(x, x + step, w, sum);
        mote_products_2_dsp(x + 2, x + step + 2, w + 2, sum);
        mote_products_2_dsp(x + 4, x + step + 4, w + 4, sum);
        mote_products_2_dsp(x + 6, x + step + 6, w + 6, sum);
    }
    for (; n >= 2; n -= 2, x += 2, w += 2) {
        mote_products_2_dsp(x, x + step, w, sum);
    }
    if (n > 0) {
        sum[0] = mote_wrapping_add(sum[0], (int32_t)x[0] * w[0]);
        sum[1] = mote_wrapping_add(sum[1], (int32_t)x[step] * w[0]);
    }
}
#define mote_products_2_s16 mote_products_2_s16
#endif

#endif
