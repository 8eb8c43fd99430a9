/* mote_affine_map.h: integers of preprocessing as the model's input: x * factor + offset for each channel, clipped, and
 * quantized. Macros make the functions: by a table where x has 8 bits, by a multiplication or a search where the input is
 * quantized, in double precision where it is float32. */
#ifndef MOTE_AFFINE_MAP_H
#define MOTE_AFFINE_MAP_H

#include "mote_common.h"

#define MOTE_MAP_TABLE(name, from, to) \
    typedef struct { \
        int32_t channels; \
        const to *table; /* 256 results for each channel, by the bits of x */ \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, to *out, int32_t n) { \
        for (; n > 0; n--) { \
            const to *table = p->table; \
            for (int32_t c = p->channels; c > 0; c--, table += 256) { \
                *out++ = table[(uint8_t)*in++]; \
            } \
        } \
    }

/* The compiler has proven that (x * mult + offset) >> shift, clamped, is the quantized result for every x. */
#define MOTE_MAP_FIXED(name, from, to) \
    typedef struct { \
        int32_t channels, shift; \
        const int32_t *mult, *lo, *hi; /* of each channel */ \
        const int64_t *offset; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, to *out, int32_t n) { \
        for (; n > 0; n--) { \
            for (int32_t c = 0; c < p->channels; c++) { \
                const int64_t y = ((int64_t)*in++ * p->mult[c] + p->offset[c]) >> p->shift; \
                *out++ = (to)(y < p->lo[c] ? p->lo[c] : y > p->hi[c] ? p->hi[c] : y); \
            } \
        } \
    }

/* Where roundings of float32 give no line: the result is `least` and one more for each of the sorted integers that x is
 * not below. A channel that falls has them for -x. */
#define MOTE_MAP_STEPS(name, from, to) \
    typedef struct { \
        int32_t channels, count; /* integers of each channel; those that x never reaches are INT32_MAX */ \
        const int32_t *begin; \
        const int32_t *least, *sign; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, to *out, int32_t n) { \
        for (; n > 0; n--) { \
            const int32_t *begin = p->begin; \
            for (int32_t c = 0; c < p->channels; c++, begin += p->count) { \
                const int64_t x = (int64_t)*in++ * p->sign[c]; \
                int32_t below = 0, above = p->count; \
                while (below < above) { \
                    const int32_t middle = (below + above) >> 1; \
                    if (begin[middle] <= x) { \
                        below = middle + 1; \
                    } else { \
                        above = middle; \
                    } \
                } \
                *out++ = (to)(p->least[c] + below); \
            } \
        } \
    }

/* Factor and offset are sums of two floats. The product is exact, so that it does not matter whether it is fused with
 * the addition. */
#define MOTE_MAP_REAL(name, from) \
    typedef struct { \
        int32_t channels; \
        const float *factor, *offset; /* two of each for each channel */ \
        const float *lo, *hi; \
    } mote_##name##_t; \
    static inline void mote_##name(const mote_##name##_t *p, const from *in, float *out, int32_t n) { \
        for (; n > 0; n--) { \
            for (int32_t c = 0; c < p->channels; c++) { \
                const double factor = (double)p->factor[2 * c] + (double)p->factor[2 * c + 1]; \
                const double offset = (double)p->offset[2 * c] + (double)p->offset[2 * c + 1]; \
                const float y = (float)((double)*in++ * factor + offset); \
                *out++ = y < p->lo[c] ? p->lo[c] : y > p->hi[c] ? p->hi[c] : y; \
            } \
        } \
    }

#endif
