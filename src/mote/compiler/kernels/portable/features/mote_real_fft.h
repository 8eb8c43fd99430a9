/* mote_real_fft.h: Fourier transforms of real signals in 16-bit block floating point, of any length 2^a 3^b 5^c.
 *
 * Two samples of a signal of an even length are a complex number. It is transformed in place, in stages of radix 4, 2, 3
 * and 5. A stage rounds once, and divides by the power of two that its largest input asks for; so signals of any level
 * keep their bits. Nothing but the signal is kept in memory, and it becomes its spectrum.
 *
 * Callers scale a signal to 14 bits (mote_real_fft_scale), put samples in their places (mote_real_fft_put), and then
 * transform it (mote_real_fft) and take what they want of the spectrum (mote_real_fft_powers).
 */
#ifndef MOTE_REAL_FFT_H
#define MOTE_REAL_FFT_H

#include "mote_complex_s16.h"

#define MOTE_ROOT_BITS 14 /* of roots of unity behind the point */

/* A complex number, or a power of the spectrum in its place. */
typedef union {
    int16_t z[2];
    uint32_t power;
} mote_bin_t;

typedef struct {
    int32_t length, points; /* real samples, and points of the complex transform: half as many, or as many where odd */
    int32_t stages;
    const uint8_t *radix;   /* of each stage */
    const uint16_t *place;  /* of each point before the first stage */
    const int16_t *roots;   /* of unity, in the order in which stages take them: one fewer than points */
    const int16_t *last;    /* those that unfold the spectrum, where the length is even */
} mote_real_fft_t;

/* How many bits a number has. */
static inline int32_t mote_real_bits(uint32_t x) {
#ifdef mote_leading_zeros
    return x == 0 ? 0 : 32 - mote_leading_zeros(x);
#else
    int32_t bits = 0;
    for (int32_t step = 16; step > 0; step >>= 1) {
        if (x >> step != 0) {
            bits += step;
            x >>= step;
        }
    }
    return bits + (int32_t)x;
#endif
}

/* A number or, where it is negative, its complement: joined by | they say how many bits the largest has. */
static inline uint32_t mote_magnitude(int32_t x) { return (uint32_t)(x ^ (x >> 31)); }

/* x / 2^shift, halves up. */
static inline int32_t mote_halves_up(int32_t x, int32_t shift) { return (x + (((int32_t)1 << shift) >> 1)) >> shift; }

/* The shift that scales a signal to 14 bits, from the bits of its magnitudes. */
static inline int32_t mote_real_fft_scale(int32_t bits) { return bits > 14 ? bits - 14 : 0; }

/* Sample i of a signal in its place. */
static inline void mote_real_fft_put(const mote_real_fft_t *p, mote_bin_t *data, int32_t i, int16_t sample) {
    if (p->length != p->points) {
        data[mote_flash_u16(p->place + (i >> 1))].z[i & 1] = sample;
    } else {
        int16_t *const z = data[mote_flash_u16(p->place + i)].z;
        z[0] = sample;
        z[1] = 0;
    }
}

static inline uint32_t mote_real_fft_store(mote_bin_t *at, int32_t real, int32_t imag, int32_t down) {
    return mote_complex_store(at->z, real >> down, imag >> down);
}

/* One stage each: butterflies of `radix` numbers that lie `size` apart, with radix - 1 roots for each of `size` places.
 * Twice the first number less one sum is the other. */
MOTE_HOT MOTE_NOINLINE uint32_t mote_real_fft_2(mote_bin_t *at, int32_t size, int32_t groups, const int16_t *roots,
                                                int32_t less) {
    const int32_t down = MOTE_ROOT_BITS + less, half = (int32_t)1 << (down - 1);
    const mote_complex_t one = mote_complex_of(1 << MOTE_ROOT_BITS, 0);
    uint32_t all = 0;
    for (; groups > 0; groups--, at += size) {
        const int16_t *root = roots;
        for (int32_t k = size; k > 0; k--, at++, root += 2) {
            const mote_complex_t x0 = mote_complex(at->z), x1 = mote_complex(at[size].z);
            const mote_complex_t w = mote_complex_constant(root);
            const int32_t r = mote_real_add(x0, one, half), i = mote_imag_add(x0, one, half);
            const int32_t r0 = mote_real_add(x1, w, r), i0 = mote_imag_add(x1, w, i);
            all |= mote_real_fft_store(at, r0, i0, down);
            all |= mote_real_fft_store(at + size, 2 * r - r0, 2 * i - i0, down);
        }
    }
    return all;
}

MOTE_HOT MOTE_NOINLINE uint32_t mote_real_fft_4(mote_bin_t *at, int32_t size, int32_t groups, const int16_t *roots,
                                                int32_t less) {
    const int32_t down = MOTE_ROOT_BITS + less, half = (int32_t)1 << (down - 1);
    const mote_complex_t one = mote_complex_of(1 << MOTE_ROOT_BITS, 0);
    uint32_t all = 0;
    for (; groups > 0; groups--, at += 3 * size) {
        const int16_t *root = roots;
        for (int32_t k = size; k > 0; k--, at++, root += 6) {
            mote_bin_t *far = at + 2 * size;
            MOTE_MOVED(far);
            const mote_complex_t x0 = mote_complex(at->z), x2 = mote_complex(far->z), w2 = mote_complex_constant(root + 2);
            const int32_t r = mote_real_add(x0, one, half), i = mote_imag_add(x0, one, half);
            const int32_t even_r = mote_real_add(x2, w2, r), even_i = mote_imag_add(x2, w2, i);
            const int32_t apart_r = 2 * r - even_r, apart_i = 2 * i - even_i;
            const mote_complex_t x1 = mote_complex(at[size].z), w1 = mote_complex_constant(root);
            const int32_t turned_r = mote_product_real(x1, w1), turned_i = mote_product_imag(x1, w1);
            const mote_complex_t x3 = mote_complex(far[size].z), w3 = mote_complex_constant(root + 4);
            const int32_t odd_r = mote_real_add(x3, w3, turned_r), odd_i = mote_imag_add(x3, w3, turned_i);
            const int32_t across_r = 2 * turned_r - odd_r, across_i = 2 * turned_i - odd_i;
            all |= mote_real_fft_store(at, even_r + odd_r, even_i + odd_i, down);
            all |= mote_real_fft_store(far, even_r - odd_r, even_i - odd_i, down);
            all |= mote_real_fft_store(at + size, apart_r + across_i, apart_i - across_r, down);
            all |= mote_real_fft_store(far + size, apart_r - across_i, apart_i + across_r, down);
        }
    }
    return all;
}

MOTE_HOT MOTE_NOINLINE uint32_t mote_real_fft_3(mote_bin_t *at, int32_t size, int32_t groups, const int16_t *roots,
                                                int32_t less) {
    const int32_t down = MOTE_ROOT_BITS + less, half = (int32_t)1 << (down - 1), round = 1 << (MOTE_ROOT_BITS - 1);
    const mote_complex_t one = mote_complex_of(1 << MOTE_ROOT_BITS, 0);
    uint32_t all = 0;
    for (; groups > 0; groups--, at += 2 * size) {
        const int16_t *root = roots;
        for (int32_t k = size; k > 0; k--, at++, root += 4) {
            const mote_complex_t w1 = mote_complex_constant(root), w2 = mote_complex_constant(root + 2);
            const mote_complex_t x0 = mote_complex(at->z), x1 = mote_complex(at[size].z), x2 = mote_complex(at[2 * size].z);
            const int32_t r0 = mote_real_add(x0, one, half), i0 = mote_imag_add(x0, one, half);
            const int32_t r1 = mote_real_add(x1, w1, round) >> MOTE_ROOT_BITS;
            const int32_t i1 = mote_imag_add(x1, w1, round) >> MOTE_ROOT_BITS;
            const int32_t r2 = mote_real_add(x2, w2, round) >> MOTE_ROOT_BITS;
            const int32_t i2 = mote_imag_add(x2, w2, round) >> MOTE_ROOT_BITS;
            const int32_t middle_r = r0 - 8192 * (r1 + r2), middle_i = i0 - 8192 * (i1 + i2);
            const int32_t apart_r = 14189 * (r1 - r2), apart_i = 14189 * (i1 - i2);
            all |= mote_real_fft_store(at, r0 + 16384 * (r1 + r2), i0 + 16384 * (i1 + i2), down);
            all |= mote_real_fft_store(at + size, middle_r + apart_i, middle_i - apart_r, down);
            all |= mote_real_fft_store(at + 2 * size, middle_r - apart_i, middle_i + apart_r, down);
        }
    }
    return all;
}

/* Sums of five have a bit less behind the point. */
MOTE_HOT MOTE_NOINLINE uint32_t mote_real_fft_5(mote_bin_t *at, int32_t size, int32_t groups, const int16_t *roots,
                                                int32_t less) {
    enum { ONE = 8192, COSINE_1 = 2531, COSINE_2 = -6627, SINE_1 = 7791, SINE_2 = 4815 };
    const int32_t down = MOTE_ROOT_BITS - 1 + less, half = (int32_t)1 << (down - 1), round = 1 << (MOTE_ROOT_BITS - 1);
    const mote_complex_t one = mote_complex_of(ONE, 0);
    uint32_t all = 0;
    for (; groups > 0; groups--, at += 4 * size) {
        const int16_t *root = roots;
        for (int32_t k = size; k > 0; k--, at++) {
            const mote_complex_t x0 = mote_complex(at->z);
            const int32_t r0 = mote_real_add(x0, one, half), i0 = mote_imag_add(x0, one, half);
            int32_t r[4], i[4];
            for (int32_t q = 0; q < 4; q++, root += 2) {
                const mote_complex_t x = mote_complex(at[(q + 1) * size].z), w = mote_complex_constant(root);
                r[q] = mote_real_add(x, w, round) >> MOTE_ROOT_BITS;
                i[q] = mote_imag_add(x, w, round) >> MOTE_ROOT_BITS;
            }
            {
                const int32_t near_r = r[0] + r[3], near_i = i[0] + i[3], far_r = r[1] + r[2], far_i = i[1] + i[2];
                const int32_t near_ar = r[0] - r[3], near_ai = i[0] - i[3], far_ar = r[1] - r[2], far_ai = i[1] - i[2];
                const int32_t one_r = r0 + COSINE_1 * near_r + COSINE_2 * far_r;
                const int32_t one_i = i0 + COSINE_1 * near_i + COSINE_2 * far_i;
                const int32_t two_r = r0 + COSINE_2 * near_r + COSINE_1 * far_r;
                const int32_t two_i = i0 + COSINE_2 * near_i + COSINE_1 * far_i;
                const int32_t one_ar = SINE_1 * near_ai + SINE_2 * far_ai, one_ai = SINE_1 * near_ar + SINE_2 * far_ar;
                const int32_t two_ar = SINE_2 * near_ai - SINE_1 * far_ai, two_ai = SINE_2 * near_ar - SINE_1 * far_ar;
                all |= mote_real_fft_store(at, r0 + ONE * (near_r + far_r), i0 + ONE * (near_i + far_i), down);
                all |= mote_real_fft_store(at + size, one_r + one_ar, one_i - one_ai, down);
                all |= mote_real_fft_store(at + 2 * size, two_r + two_ar, two_i - two_ai, down);
                all |= mote_real_fft_store(at + 3 * size, two_r - two_ar, two_i + two_ai, down);
                all |= mote_real_fft_store(at + 4 * size, one_r - one_ar, one_i + one_ai, down);
            }
        }
    }
    return all;
}

/* Transforms a signal of so many bits, at most 14. Returns by how many bits the result was shifted right, and sets the
 * bits of its largest number. */
static inline int32_t mote_real_fft(const mote_real_fft_t *p, mote_bin_t *data, int32_t *bits) {
    const int16_t *roots = p->roots;
    int32_t shifted = 0, size = 1, groups = p->points;
    for (int32_t stage = 0; stage < p->stages; stage++) {
        const int32_t radix = mote_flash_u8(p->radix + stage), most = radix == 2 ? 13 : 12;
        const int32_t less = *bits > most ? *bits - most : 0;
        uint32_t all;
        groups /= radix;
        if (radix == 4) {
            all = mote_real_fft_4(data, size, groups, roots, less);
        } else if (radix == 2) {
            all = mote_real_fft_2(data, size, groups, roots, less);
        } else if (radix == 3) {
            all = mote_real_fft_3(data, size, groups, roots, less);
        } else {
            all = mote_real_fft_5(data, size, groups, roots, less);
        }
        *bits = mote_min(mote_real_bits(mote_complex_magnitudes(all)), 15);
        shifted += less;
        roots += 2 * size * (radix - 1);
        size *= radix;
    }
    return shifted;
}

static inline uint32_t mote_real_fft_power(int32_t real, int32_t imag, int32_t shift) {
    const int32_t r = real >> shift, i = imag >> shift;
    return (uint32_t)(r * r) + (uint32_t)(i * i);
}

/* Unfolds bin k and, where `both` are wanted, bin points - k. */
MOTE_ALWAYS_INLINE void mote_real_fft_unfold(const mote_real_fft_t *p, mote_bin_t *data, int32_t k, int32_t half,
                                             int32_t shift, int32_t both) {
    mote_bin_t *const near = data + k, *const far = data + p->points - k;
    const int32_t a_r = near->z[0], a_i = near->z[1], b_r = far->z[0], b_i = far->z[1];
    const int32_t w_r = mote_flash_s16(p->last + 2 * k), w_i = mote_flash_s16(p->last + 2 * k + 1);
    const int32_t total_r = 16384 * (a_r + b_r) + half, total_i = 16384 * (a_i - b_i) + half;
    const int32_t apart_r = a_r - b_r, apart_i = a_i + b_i;
    const int32_t turn_r = w_r * apart_r - w_i * apart_i, turn_i = w_r * apart_i + w_i * apart_r;
    if (both) {
        far->power = mote_real_fft_power(total_r - turn_i, total_i + turn_r, shift);
    }
    near->power = mote_real_fft_power(total_r + turn_i, total_i - turn_r, shift);
}

/* The shift of mote_real_fft_powers: the result is that of the signal as it was put, by 2^(shifted + shift - 15). */
static inline int32_t mote_real_fft_last_shift(int32_t bits) { return bits < 14 ? bits + 1 : 15; }

/* Squared magnitudes of bins 0 to `top`, at most half of the length, in place. The last bin of a signal of an even length
 * lies behind the signal. */
MOTE_HOT MOTE_NOINLINE void mote_real_fft_powers(const mote_real_fft_t *p, mote_bin_t *data, int32_t top, int32_t shift) {
    const int32_t points = p->points, half = ((int32_t)1 << shift) >> 1;
    int32_t k = 1;
    if (p->length == points) {
        for (k = 0; k <= top; k++) {
            const int32_t real = data[k].z[0], imag = data[k].z[1];
            data[k].power = mote_real_fft_power(32768 * real + half, 32768 * imag + half, shift);
        }
        return;
    }
    for (; k < points - top && k <= top && k <= points / 2; k++) {
        mote_real_fft_unfold(p, data, k, half, shift, 0);
    }
    for (; k <= top && k <= points / 2; k++) {
        mote_real_fft_unfold(p, data, k, half, shift, 1);
    }
    {
        const int32_t real = data[0].z[0], imag = data[0].z[1];
        data[0].power = mote_real_fft_power(32768 * (real + imag) + half, 0, shift);
        if (top == points) {
            data[points].power = mote_real_fft_power(32768 * (real - imag) + half, 0, shift);
        }
    }
}

#endif
