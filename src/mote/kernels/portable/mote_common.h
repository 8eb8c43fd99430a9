/* mote_common.h: what every kernel shares: row windows, exact requantization, clamping.
 *
 * Kernels are plain C99, static inline, without allocation, recursion or global state. All integer
 * arithmetic equals LiteRT's reference kernels bit for bit. Where the core has the Armv7E-M DSP
 * instructions they are used; the portable code beside them defines what they mean.
 */
#ifndef MOTE_COMMON_H
#define MOTE_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* gcc 12.2 makes vectors of plain C for Helium that compute something else. -fno-tree-vectorize says the same for those
 * who know it; no header can see whether it was given. */
#if defined(__ARM_FEATURE_MVE) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif

#if defined(__GNUC__)
#define MOTE_ALIGNED __attribute__((aligned(4))) /* constants that kernels read as words */
/* Functions with tight inner loops: inlined into a long caller, their loops would lose registers to it. */
#define MOTE_NOINLINE __attribute__((noinline, unused)) static
#define MOTE_UNUSED __attribute__((unused)) /* what macros define and not every model uses */
/* Functions that are given another function: inlined, the call is a direct one. */
#define MOTE_ALWAYS_INLINE static inline __attribute__((always_inline, unused))
#else
#define MOTE_ALIGNED
#define MOTE_NOINLINE static inline
#define MOTE_UNUSED
#define MOTE_ALWAYS_INLINE static inline
#endif

/* Loops in C that would be much slower in a build for size. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#define MOTE_HOT __attribute__((optimize("O2")))
#else
#define MOTE_HOT
#endif

/* A pointer that becomes one of any type where it is used, as C does with void *. */
#if defined(__cplusplus)
extern "C++" {
class mote_any_t {
  public:
    mote_any_t(const void *pointer) : at(pointer) {}
    template <typename T> operator T *() const { return (T *)at; }

  private:
    const void *at;
};
}
typedef mote_any_t mote_any_const_t;
#else
typedef void *mote_any_t;
typedef const void *mote_any_const_t;
#endif

/* The code for DSP instructions loads words from any address; a compiler that must not (-mno-unaligned-access, for a core
 * that traps such loads) gets the portable code, unless generated code says that its words are aligned. */
#ifndef MOTE_WORDS_ALIGNED
#define MOTE_WORDS_ALIGNED 0
#endif
#if defined(__ARM_FEATURE_DSP) && (defined(__ARM_FEATURE_UNALIGNED) || MOTE_WORDS_ALIGNED) && defined(__GNUC__) && \
    !defined(MOTE_PORTABLE)
#define MOTE_DSP 1
#else
#define MOTE_DSP 0
#endif

/* The C library's memcpy may do what the compiler must not. This one copies bytes; the barrier keeps a compiler from
 * making a call of memcpy of it. */
#if defined(__ARM_ARCH) && __ARM_ARCH >= 7 && !defined(__ARM_FEATURE_UNALIGNED) && defined(__GNUC__)
static inline void *mote_copy_bytes(void *to, const void *from, size_t bytes) {
    uint8_t *t = (uint8_t *)to;
    const uint8_t *f = (const uint8_t *)from;
    for (; bytes > 0; bytes--) {
        *t++ = *f++;
        __asm__ volatile("" : : : "memory");
    }
    return to;
}
#define memcpy mote_copy_bytes
#endif

/* The float that is larger than all others, as a constant. */
#if defined(__GNUC__)
#define MOTE_INFINITY (1.0f / 0.0f)
#else
#define MOTE_INFINITY ((float)(1e300 * 1e300))
#endif

/* What needs a `double` of 64 bits is an error where it has fewer (avr-gcc has an option for it, -mdouble=64). */
#if defined(__SIZEOF_DOUBLE__) && __SIZEOF_DOUBLE__ < 8
#define MOTE_SHORT_DOUBLE 1
#else
#define MOTE_SHORT_DOUBLE 0
#endif

#ifndef MOTE_MAX_TAPS
#define MOTE_MAX_TAPS 16 /* the tallest window of the model; generated code sets it */
#endif

#ifndef MOTE_SUMS_WRAP
#define MOTE_SUMS_WRAP 0 /* whether a sum of the model can leave 32 bits; generated code sets it */
#endif

#ifndef MOTE_FUSED
#define MOTE_FUSED 0 /* whether products of float32 are added without being rounded first; generated code sets it */
#endif

#if MOTE_DSP
/* Four and two bytes as a word, from any address. (The builtin, because a freestanding compiler calls memcpy.) */
#if MOTE_WORDS_ALIGNED
static inline uint32_t mote_load2(const int8_t *p) { return (uint32_t)(uint8_t)p[0] | (uint32_t)(uint8_t)p[1] << 8; }

static inline uint32_t mote_load4(const int8_t *p) { return mote_load2(p) | mote_load2(p + 2) << 16; }
#else
static inline uint32_t mote_load4(const int8_t *p) {
    uint32_t word;
    __builtin_memcpy(&word, p, 4);
    return word;
}

static inline uint32_t mote_load2(const int8_t *p) {
    uint16_t half;
    __builtin_memcpy(&half, p, 2);
    return half;
}
#endif
#endif

/* a + b as registers add: what does not fit 32 bits wraps, as LiteRT's sums do. */
MOTE_ALWAYS_INLINE int32_t mote_wrapping_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

/* The same where generated code says that a sum of the model might not fit. Else the compiler has proven that all of
 * them do, in any order of their terms. */
#if MOTE_SUMS_WRAP
#define MOTE_PLUS(a, b) mote_wrapping_add(a, b)
#else
#define MOTE_PLUS(a, b) ((a) + (b))
#endif

/* The vertical side of a sliding window. Output row y reads the input rows y*step - pad + k*spread for
 * k = 0..taps-1; those outside the image are padding. Row contract: a kernel's *_row function computes one
 * output row from `taps` row pointers, NULL for padding, wherever the caller keeps those rows. */
typedef struct {
    int32_t in_rows, out_rows;     /* of one image */
    int32_t in_stride, out_stride; /* elements from one row to the next */
    int32_t taps, step, spread, pad;
} mote_window_t;

/* The first input row that output row y reads, and the image (batch) it belongs to. */
static inline int32_t mote_window_first(const mote_window_t *w, int32_t y, int32_t *image) {
    int32_t n = 0;
    while (y >= w->out_rows) {
        y -= w->out_rows;
        n++;
    }
    *image = n;
    return y * w->step - w->pad;
}

/* Row pointers into a tensor whose rows lie one after another. */
static inline void mote_window_s8(const mote_window_t *w, const int8_t *in, int32_t y, const int8_t **rows) {
    int32_t image;
    int32_t row = mote_window_first(w, y, &image);
    in += image * w->in_rows * w->in_stride;
    for (int32_t k = 0; k < w->taps; k++, row += w->spread) {
        rows[k] = row >= 0 && row < w->in_rows ? in + row * w->in_stride : NULL;
    }
}

static inline void mote_window_f32(const mote_window_t *w, const float *in, int32_t y, const float **rows) {
    int32_t image;
    int32_t row = mote_window_first(w, y, &image);
    in += image * w->in_rows * w->in_stride;
    for (int32_t k = 0; k < w->taps; k++, row += w->spread) {
        rows[k] = row >= 0 && row < w->in_rows ? in + row * w->in_stride : NULL;
    }
}

/* The horizontal side of a window: which of its `taps` columns lie inside the image at output column x. */
typedef struct {
    int32_t in_size, out_size;
    int32_t taps, step, spread, pad;
} mote_span_t;

static inline int32_t mote_span_lo(const mote_span_t *s, int32_t first) {
    int32_t k = 0;
    while (first < 0) {
        first += s->spread;
        k++;
    }
    return k;
}

static inline int32_t mote_span_hi(const mote_span_t *s, int32_t first) {
    int32_t k = s->taps;
    int32_t last = first + (s->taps - 1) * s->spread;
    while (k > 0 && last >= s->in_size) {
        last -= s->spread;
        k--;
    }
    return k;
}

/* How one output channel turns its int32 sum into int8: see mote_rescale. The compiler normalizes the multiplier. */
typedef struct {
    int32_t bias, mult, shift;
} mote_channel_t;

typedef struct {
    int32_t zero, lo, hi; /* output zero point and the range of the fused activation */
    int32_t plain;        /* the range is all of int8, and no channel has a left shift */
} mote_output_t;

/* floor((x * mult + 2^30) / 2^31): the doubled product's high half, rounded. 0 <= mult. */
static inline int32_t mote_high_mul(int32_t x, int32_t mult) {
#if MOTE_DSP
    /* SMMLAR adds x * twice in 64 bits to a third operand's high half and rounds. `twice` is 2 * mult modulo
     * 2^32: where that wrapped, the third operand is x and makes up for it. */
    const int32_t twice = (int32_t)((uint32_t)mult << 1);
    int32_t high;
    __asm__("smmlar %0, %1, %2, %3" : "=r"(high) : "r"(x), "r"(twice), "r"(x & (twice >> 31)));
    return high;
#else
    return (int32_t)(((int64_t)x * mult + ((int32_t)1 << 30)) >> 31);
#endif
}

/* The same for a normalized multiplier, 2^30 <= mult: `twice` always wraps. */
static inline int32_t mote_high_mul_normal(int32_t x, int32_t mult) {
#if MOTE_DSP
    int32_t high;
    __asm__("smmlar %0, %1, %2, %1" : "=r"(high) : "r"(x), "r"((int32_t)((uint32_t)mult << 1)));
    return high;
#else
    return mote_high_mul(x, mult);
#endif
}

/* x / 2^(shift + 1), halves away from zero. */
static inline int32_t mote_shift_right(int32_t x, int32_t shift) { return (((x + (x >> 31)) >> shift) + 1) >> 1; }

/* x * mult / 2^31 / 2^(shift + 1), rounded after the multiply and, halves away from zero, after the shift.
 * A shift below zero is a left shift by -1 - shift. */
static inline int32_t mote_rescale(int32_t x, int32_t mult, int32_t shift) {
    if (shift < 0) {
        return mote_high_mul((int32_t)((uint32_t)x << (-1 - shift)), mult);
    }
    return mote_shift_right(mote_high_mul(x, mult), shift);
}

static inline int8_t mote_clamp(int32_t x, int32_t lo, int32_t hi) {
    return (int8_t)(x < lo ? lo : x > hi ? hi : x);
}

/* A channel's sum as int8 where the output is plain. The multiplier is normalized. */
static inline int8_t mote_requantize_plain(int32_t sum, int32_t mult, int32_t shift, int32_t zero) {
    const int32_t y = mote_shift_right(mote_high_mul_normal(sum, mult), shift) + zero;
#if MOTE_DSP
    int32_t r;
    __asm__("ssat %0, #8, %1" : "=r"(r) : "r"(y));
    return (int8_t)r;
#else
    return mote_clamp(y, -128, 127);
#endif
}

/* The same for any output. */
static inline int8_t mote_requantize(int32_t sum, int32_t mult, int32_t shift, mote_output_t o) {
    if (o.plain) {
        return mote_requantize_plain(sum, mult, shift, o.zero);
    }
    return mote_clamp(MOTE_PLUS(mote_rescale(sum, mult, shift), o.zero), o.lo, o.hi);
}

/* A variable in a register for real numbers, as an operand of assembly that may change it. */
#if defined(__aarch64__)
#define MOTE_REAL(variable) "+w"(variable)
#else
#define MOTE_REAL(variable) "+t"(variable)
#endif

/* sum + x * w, with the product rounded or, where generated code says that the core is quicker so, not: contraction is
 * chosen here and not left to the compiler. */
static inline float mote_add_product_f32(float sum, float x, float w) {
#if MOTE_FUSED && defined(__ARM_FEATURE_FMA) && defined(__GNUC__)
    return __builtin_fmaf(x, w, sum);
#elif defined(__ARM_FP) && (__ARM_FP & 4) && defined(__GNUC__)
    float product = x * w;
    __asm__("" : MOTE_REAL(product)); /* a compiler that sees both would fuse them */
    return sum + product;
#else
    return sum + x * w;
#endif
}

static inline float mote_clamp_f32(float x, float lo, float hi) { return x < lo ? lo : x > hi ? hi : x; }

static inline int32_t mote_min(int32_t a, int32_t b) { return a < b ? a : b; }

#endif
