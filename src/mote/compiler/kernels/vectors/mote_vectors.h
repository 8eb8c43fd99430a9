/* mote_vectors.h: vectors of 32-bit lanes of the computer that compiles this: AVX-512, AVX2, SSE4.1 or NEON.
 *
 * MOTE_VECTORS is the number of lanes, 0 where there are none: kernels then take their portable definitions. Weights are
 * packed for blocks of 16 channels whatever the vectors are, so that generated C is the same for all of them: four of
 * channel 0, four of channel 1, and so on. A block and four inputs are MOTE_PARTS vectors of weights; `mote_v_dot` adds
 * up their products, in each lane of a channel a part of them where it has two, which `mote_v_join` then adds. */
#ifndef MOTE_VECTORS_H
#define MOTE_VECTORS_H

#include "mote_common.h"

#define MOTE_VECTOR_BLOCK 16 /* channels that are computed at once */

#if !defined(__GNUC__) || defined(MOTE_PORTABLE) || defined(__FRAMAC__)
#define MOTE_VECTORS 0
#elif defined(__AVX512F__) && defined(__AVX512BW__)
#define MOTE_VECTORS 16
#elif defined(__AVX2__)
#define MOTE_VECTORS 8
#elif defined(__SSE4_1__)
#define MOTE_VECTORS 4
#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#define MOTE_VECTORS 4
#else
#define MOTE_VECTORS 0
#endif

/* What inputs are multiplied as. */
#if MOTE_VECTORS && defined(__aarch64__)
typedef int8_t mote_v_factor_t;
#else
typedef int16_t mote_v_factor_t;
#endif

/* n inputs as factors. */
static inline void mote_factors(const int8_t *in, mote_v_factor_t *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        out[i] = in[i];
    }
}

static inline void mote_fill_factors(int32_t value, mote_v_factor_t *out, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        out[i] = (mote_v_factor_t)value;
    }
}

#if MOTE_VECTORS

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

typedef int32_t mote_lanes_t __attribute__((vector_size(4 * MOTE_VECTORS)));
typedef uint32_t mote_ulanes_t __attribute__((vector_size(4 * MOTE_VECTORS)));
typedef int8_t mote_narrow_t __attribute__((vector_size(MOTE_VECTORS)));

#if MOTE_VECTORS == 16

#define MOTE_PARTS 2
#define MOTE_TILE 8
#define MOTE_HALVES 1 /* lanes of a channel hold two parts of its sum */
typedef __m512i mote_v_t;
MOTE_ALWAYS_INLINE mote_v_t mote_v_zero(void) { return _mm512_setzero_si512(); }
MOTE_ALWAYS_INLINE mote_v_t mote_v_weights(const int8_t *w) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)w));
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_pairs(const int16_t *x) { return _mm512_loadu_si512((const void *)x); }
MOTE_ALWAYS_INLINE mote_v_t mote_v_four(const mote_v_factor_t *x) {
    int64_t four;
    memcpy(&four, x, sizeof four);
    return _mm512_set1_epi64(four);
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_dot(mote_v_t sum, mote_v_t a, mote_v_t b) {
#if defined(__AVX512VNNI__)
    return _mm512_dpwssd_epi32(sum, a, b);
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
#endif
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_join(mote_v_t a, mote_v_t b) {
    const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const __m512 x = _mm512_castsi512_ps(a), y = _mm512_castsi512_ps(b);
    const __m512i even = _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0x88));
    const __m512i odd = _mm512_castps_si512(_mm512_shuffle_ps(x, y, 0xDD));
    return (mote_lanes_t)_mm512_permutexvar_epi64(order, _mm512_add_epi32(even, odd));
}
/* (x * mult + 2^30) >> 31 */
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high_mul(mote_lanes_t x, mote_lanes_t mult) {
    const __m512i a = (__m512i)x, m = (__m512i)mult, half = _mm512_set1_epi64((int64_t)1 << 30);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epi32(a, m), half);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(m, 32)), half);
    return (mote_lanes_t)_mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 31), _mm512_slli_epi64(odd, 1));
}
/* x * mult >> 32 */
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high(mote_lanes_t x, mote_lanes_t mult) {
    const __m512i a = (__m512i)x, m = (__m512i)mult;
    const __m512i even = _mm512_mul_epi32(a, m);
    const __m512i odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(m, 32));
    return (mote_lanes_t)_mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_clamp(mote_lanes_t x, mote_lanes_t lo, mote_lanes_t hi) {
    return (mote_lanes_t)_mm512_min_epi32(_mm512_max_epi32((__m512i)x, (__m512i)lo), (__m512i)hi);
}

#elif MOTE_VECTORS == 8

#define MOTE_PARTS 4
#define MOTE_TILE 4
#define MOTE_HALVES 1
typedef __m256i mote_v_t;
MOTE_ALWAYS_INLINE mote_v_t mote_v_zero(void) { return _mm256_setzero_si256(); }
MOTE_ALWAYS_INLINE mote_v_t mote_v_weights(const int8_t *w) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)w));
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_pairs(const int16_t *x) {
    return _mm256_loadu_si256((const __m256i *)(const void *)x);
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_four(const mote_v_factor_t *x) {
    long long four;
    memcpy(&four, x, sizeof four);
    return _mm256_set1_epi64x(four);
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_dot(mote_v_t sum, mote_v_t a, mote_v_t b) {
#if defined(__AVXVNNI__)
    return _mm256_dpwssd_avx_epi32(sum, a, b);
#else
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
#endif
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_join(mote_v_t a, mote_v_t b) {
    return (mote_lanes_t)_mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xD8);
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high_mul(mote_lanes_t x, mote_lanes_t mult) {
    const __m256i a = (__m256i)x, m = (__m256i)mult, half = _mm256_set1_epi64x((long long)1 << 30);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(a, m), half);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(m, 32)), half);
    return (mote_lanes_t)_mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high(mote_lanes_t x, mote_lanes_t mult) {
    const __m256i a = (__m256i)x, m = (__m256i)mult;
    const __m256i even = _mm256_mul_epi32(a, m);
    const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(m, 32));
    return (mote_lanes_t)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_clamp(mote_lanes_t x, mote_lanes_t lo, mote_lanes_t hi) {
    return (mote_lanes_t)_mm256_min_epi32(_mm256_max_epi32((__m256i)x, (__m256i)lo), (__m256i)hi);
}

#elif defined(__SSE4_1__)

#define MOTE_PARTS 8
#define MOTE_TILE 4
#define MOTE_HALVES 1
typedef __m128i mote_v_t;
MOTE_ALWAYS_INLINE mote_v_t mote_v_zero(void) { return _mm_setzero_si128(); }
MOTE_ALWAYS_INLINE mote_v_t mote_v_weights(const int8_t *w) {
    return _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)w));
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_pairs(const int16_t *x) { return _mm_loadu_si128((const __m128i *)(const void *)x); }
MOTE_ALWAYS_INLINE mote_v_t mote_v_four(const mote_v_factor_t *x) {
    const __m128i four = _mm_loadl_epi64((const __m128i *)(const void *)x);
    return _mm_unpacklo_epi64(four, four);
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_dot(mote_v_t sum, mote_v_t a, mote_v_t b) {
    return _mm_add_epi32(sum, _mm_madd_epi16(a, b));
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_join(mote_v_t a, mote_v_t b) { return (mote_lanes_t)_mm_hadd_epi32(a, b); }
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high_mul(mote_lanes_t x, mote_lanes_t mult) {
    const __m128i a = (__m128i)x, m = (__m128i)mult, half = _mm_set1_epi64x((long long)1 << 30);
    const __m128i even = _mm_add_epi64(_mm_mul_epi32(a, m), half);
    const __m128i odd = _mm_add_epi64(_mm_mul_epi32(_mm_srli_epi64(a, 32), _mm_srli_epi64(m, 32)), half);
    return (mote_lanes_t)_mm_blend_epi16(_mm_srli_epi64(even, 31), _mm_slli_epi64(odd, 1), 0xCC);
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high(mote_lanes_t x, mote_lanes_t mult) {
    const __m128i a = (__m128i)x, m = (__m128i)mult;
    const __m128i even = _mm_mul_epi32(a, m);
    const __m128i odd = _mm_mul_epi32(_mm_srli_epi64(a, 32), _mm_srli_epi64(m, 32));
    return (mote_lanes_t)_mm_blend_epi16(_mm_srli_epi64(even, 32), odd, 0xCC);
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_clamp(mote_lanes_t x, mote_lanes_t lo, mote_lanes_t hi) {
    return (mote_lanes_t)_mm_min_epi32(_mm_max_epi32((__m128i)x, (__m128i)lo), (__m128i)hi);
}

#else /* NEON */

typedef int32x4_t mote_v_t;
#define MOTE_TILE 4
MOTE_ALWAYS_INLINE mote_v_t mote_v_zero(void) { return vdupq_n_s32(0); }
#if defined(__ARM_FEATURE_DOTPROD)
#define MOTE_PARTS 4
#define MOTE_HALVES 0
typedef int8x16_t mote_few_t;
MOTE_ALWAYS_INLINE mote_few_t mote_v_weights(const int8_t *w) { return vld1q_s8(w); }
MOTE_ALWAYS_INLINE mote_few_t mote_v_four(const mote_v_factor_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_dot(mote_v_t sum, mote_few_t a, mote_few_t b) { return vdotq_s32(sum, a, b); }
#else
#define MOTE_PARTS 8
#define MOTE_HALVES 1
typedef int8x8_t mote_few_t;
MOTE_ALWAYS_INLINE mote_few_t mote_v_weights(const int8_t *w) { return vld1_s8(w); }
MOTE_ALWAYS_INLINE mote_few_t mote_v_four(const mote_v_factor_t *x) {
    int32_t four;
    memcpy(&four, x, sizeof four);
    return vreinterpret_s8_s32(vdup_n_s32(four));
}
MOTE_ALWAYS_INLINE mote_v_t mote_v_dot(mote_v_t sum, mote_few_t a, mote_few_t b) {
    return vpadalq_s16(sum, vmull_s8(a, b));
}
#endif
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_join(mote_v_t a, mote_v_t b) { return (mote_lanes_t)vpaddq_s32(a, b); }
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high_mul(mote_lanes_t x, mote_lanes_t mult) {
    return (mote_lanes_t)vqrdmulhq_s32((int32x4_t)x, (int32x4_t)mult);
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_high(mote_lanes_t x, mote_lanes_t mult) {
    const int32x4_t a = (int32x4_t)x, m = (int32x4_t)mult;
    const int64x2_t low = vmull_s32(vget_low_s32(a), vget_low_s32(m)), high = vmull_high_s32(a, m);
    return (mote_lanes_t)vuzp2q_s32(vreinterpretq_s32_s64(low), vreinterpretq_s32_s64(high));
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_clamp(mote_lanes_t x, mote_lanes_t lo, mote_lanes_t hi) {
    return (mote_lanes_t)vminq_s32(vmaxq_s32((int32x4_t)x, (int32x4_t)lo), (int32x4_t)hi);
}

#endif

/* Sums of channels, whose products come in pairs: MOTE_V_PAIRS vectors for a block. */
#if defined(__aarch64__)
#define MOTE_V_PAIRS 8
typedef int16x4_t mote_v_pairs_t;
MOTE_ALWAYS_INLINE mote_v_pairs_t mote_v_pairs(const int16_t *x) { return vld1_s16(x); }
MOTE_ALWAYS_INLINE mote_v_t mote_v_dot_pairs(mote_v_t sum, mote_v_pairs_t a, mote_v_pairs_t b) { return vmlal_s16(sum, a, b); }
#define MOTE_PAIR_LANES_OF(sum, i) mote_v_join((sum)[2 * (i)], (sum)[2 * (i) + 1])
#else
#define MOTE_V_PAIRS MOTE_GROUPS
typedef mote_v_t mote_few_t, mote_v_pairs_t;
#define mote_v_dot_pairs mote_v_dot
#define MOTE_PAIR_LANES_OF(sum, i) (mote_lanes_t)(sum)[i]
#endif

#define MOTE_GROUPS (MOTE_VECTOR_BLOCK / MOTE_VECTORS) /* vectors of sums of a block */

MOTE_ALWAYS_INLINE mote_lanes_t mote_v_load(const int32_t *x) {
    mote_lanes_t lanes;
    memcpy(&lanes, x, sizeof lanes);
    return lanes;
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_all(int32_t x) {
    const mote_lanes_t none = {0};
    return none + x;
}
MOTE_ALWAYS_INLINE mote_lanes_t mote_v_plus(mote_lanes_t a, mote_lanes_t b) {
    return (mote_lanes_t)((mote_ulanes_t)a + (mote_ulanes_t)b);
}

#endif

/* How the sums of a block become bytes: the biases of 16 channels, their multipliers, their right shifts less one. */
#define MOTE_VECTOR_BLOCK_CONSTANTS (3 * MOTE_VECTOR_BLOCK)

#if MOTE_VECTORS
/* Vector `g` of the sums of a block, with their biases already, as bytes: mote_rescale, or mote_rescale_once. */
MOTE_ALWAYS_INLINE mote_narrow_t mote_v_finish(mote_lanes_t sum, const int32_t *b, int32_t g, int32_t once,
                                               const mote_output_t *o) {
    const mote_lanes_t mult = mote_v_load(b + MOTE_VECTOR_BLOCK + g * MOTE_VECTORS);
    const mote_lanes_t shift = mote_v_load(b + 2 * MOTE_VECTOR_BLOCK + g * MOTE_VECTORS);
    mote_lanes_t y;
    if (once) {
        y = (mote_v_high(sum, mult) + (mote_v_all(1) << (shift - 1))) >> shift;
    } else {
        const mote_lanes_t h = mote_v_high_mul(sum, mult);
        y = (((h + (h >> 31)) >> shift) + 1) >> 1;
    }
    y = mote_v_clamp(mote_v_plus(y, mote_v_all(o->zero)), mote_v_all(o->lo), mote_v_all(o->hi));
    return __builtin_convertvector(y, mote_narrow_t);
}

/* The bytes of a block of channels, of which `n` are there. */
MOTE_ALWAYS_INLINE void mote_v_store(const mote_narrow_t *bytes, int8_t *out, int32_t n) {
    if (n >= MOTE_VECTOR_BLOCK) {
        memcpy(out, bytes, MOTE_VECTOR_BLOCK);
    } else {
        memcpy(out, bytes, (size_t)n);
    }
}
#else
/* The sums of a block as bytes, of which `n` are there: mote_rescale, or rounded once as in mote_rescale_once. */
static inline void mote_finish_block(const int32_t *sum, const int32_t *b, int32_t once, const mote_output_t *o,
                                     int8_t *out, int32_t n) {
    for (int32_t i = 0; i < mote_min(n, MOTE_VECTOR_BLOCK); i++) {
        const int32_t mult = b[MOTE_VECTOR_BLOCK + i], shift = b[2 * MOTE_VECTOR_BLOCK + i];
        int32_t y;
        if (once) {
            y = ((int32_t)((int64_t)sum[i] * mult >> 32) + ((int32_t)1 << (shift - 1))) >> shift;
        } else {
            y = mote_shift_right(mote_high_mul(sum[i], mult), shift);
        }
        out[i] = mote_clamp(mote_wrapping_add(y, o->zero), o->lo, o->hi);
    }
}
#endif

#endif
