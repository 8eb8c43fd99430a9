/* mote_filter_bank.h: the channels of an audio front end: sums of energies, roots, noise, gains, logarithms. */
#ifndef MOTE_FILTER_BANK_H
#define MOTE_FILTER_BANK_H

#include "mote_common.h"

/* Bits of a number that is not zero. */
static inline int32_t mote_filter_bits(uint32_t x) {
    int32_t bits = 0;
    for (; x != 0; x >>= 1) {
        bits++;
    }
    return bits;
}

/* Where a channel begins among the energies and among the weights, and how wide it is. */
typedef struct {
    int32_t start, first, width;
} mote_band_t;

typedef struct {
    int32_t channels;
    const mote_band_t *band; /* one more than channels: the first is computed and not shown */
    const int16_t *weights, *rests;
} mote_filter_bank_t;

/* Each energy goes to a channel with its weight, and to the next one with what is left. */
static inline void mote_filter_bank(const mote_filter_bank_t *p, const uint32_t *in, uint64_t *out) {
    uint64_t carried = 0;
    for (int32_t c = 0; c <= p->channels; c++) {
        const mote_band_t *const band = p->band + c;
        uint64_t sum = carried;
        carried = 0;
        for (int32_t i = 0; i < band->width; i++) {
            const uint64_t energy = in[band->start + i];
            sum += energy * (uint64_t)(int64_t)p->weights[band->first + i];
            carried += energy * (uint64_t)(int64_t)p->rests[band->first + i];
        }
        if (c > 0) {
            out[c - 1] = sum;
        }
    }
}

typedef struct {
    int32_t channels;
} mote_square_root_t;

static inline uint32_t mote_square_root_32(uint32_t x) {
    uint32_t root = 0, bit = (uint32_t)1 << 30;
    while (bit > x) {
        bit >>= 2;
    }
    for (; bit != 0; bit >>= 2) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return x > root && root != 0xffffu ? root + 1 : root;
}

static inline uint32_t mote_square_root_64(uint64_t x) {
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    if (x >> 32 == 0) {
        return mote_square_root_32((uint32_t)x);
    }
    while (bit > x) {
        bit >>= 2;
    }
    for (; bit != 0; bit >>= 2) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)(x > root && root != 0xffffffffu ? root + 1 : root);
}

/* Roots shifted right, by as many bits as a register can be. */
static inline void mote_square_root(const mote_square_root_t *p, const uint64_t *in, const int32_t *bits, uint32_t *out) {
    for (int32_t i = 0; i < p->channels; i++) {
        out[i] = mote_square_root_64(in[i]) >> (*bits & 31);
    }
}

/* How much of a signal, and of the noise before it, goes into the estimate. */
typedef struct {
    uint32_t weight, rest;
} mote_mix_t;

typedef struct {
    int32_t channels, smoothing_bits, bits, clamping;
    mote_mix_t even, odd; /* of channels with such numbers */
} mote_noise_t;

static inline void mote_noise(const mote_noise_t *p, const uint32_t *in, uint32_t *noise) {
    for (int32_t i = 0; i < p->channels; i++) {
        const uint32_t signal = in[i] << p->smoothing_bits;
        const mote_mix_t *const mix = (i & 1) != 0 ? &p->odd : &p->even;
        const uint64_t mixed = (uint64_t)signal * mix->weight + (uint64_t)noise[i] * mix->rest;
        const uint32_t found = (uint32_t)(mixed >> p->bits);
        noise[i] = p->clamping && found > signal ? signal : found;
    }
}

typedef struct {
    int32_t channels, smoothing_bits, bits;
    uint32_t least; /* the share of a signal that stays */
} mote_subtraction_t;

static inline void mote_subtraction(const mote_subtraction_t *p, const uint32_t *in, const uint32_t *noise,
                                    uint32_t *out) {
    for (int32_t i = 0; i < p->channels; i++) {
        const uint32_t signal = in[i] << p->smoothing_bits;
        const uint32_t left = (noise[i] > signal ? 0 : signal - noise[i]) >> p->smoothing_bits;
        const uint32_t least = (uint32_t)(((uint64_t)in[i] * p->least) >> p->bits);
        out[i] = left > least ? left : least;
    }
}

typedef struct {
    int32_t channels, bits;
    uint32_t scale;
    const int16_t *table; /* by how much a logarithm is above a straight line, at 128 places and the end */
} mote_channel_log_t;

/* The natural logarithm of a number above one times a scale, by way of the one to the base of two in 16 bits. */
static inline uint32_t mote_channel_log_of(const mote_channel_log_t *p, uint32_t x) {
    const int32_t whole = mote_filter_bits(x) - 1;
    const uint32_t above = x - ((uint32_t)1 << whole);
    const uint32_t rest = whole < 16 ? above << (16 - whole) : above >> (whole - 16);
    const uint32_t segment = (rest >> 9) & 127;
    const int32_t begin = p->table[segment], end = p->table[segment + 1];
    const int32_t bend = ((end - begin) * (int32_t)(rest & 511)) >> 16;
    const uint32_t log2 = ((uint32_t)whole << 16) + rest + (uint32_t)(begin + bend);
    const uint32_t log = (uint32_t)(((uint64_t)45426 * log2 + 32768) >> 16);
    return (p->scale * log + 32768) >> 16;
}

static inline void mote_channel_log(const mote_channel_log_t *p, const uint32_t *in, int16_t *out) {
    for (int32_t i = 0; i < p->channels; i++) {
        const uint32_t x = in[i] << p->bits;
        const uint32_t y = x > 1 ? mote_channel_log_of(p, x) : 0;
        out[i] = (int16_t)(y < INT16_MAX ? y : INT16_MAX);
    }
}

typedef struct {
    int32_t channels, shift;
    const int16_t *table; /* three numbers for zero to two, then a parabola for each power of two */
} mote_gain_t;

static inline int16_t mote_gain_of(const int16_t *table, uint32_t x) {
    if (x <= 2) {
        return table[x];
    }
    const int32_t bits = mote_filter_bits(x);
    const int16_t *const curve = table + 4 * bits - 6;
    const uint32_t at = (bits < 11 ? x << (11 - bits) : x >> (bits - 11)) & 0x3ff;
    const uint32_t slope = (uint32_t)((curve[2] * (int32_t)at) >> 5) + ((uint32_t)(int32_t)curve[1] << 5);
    return (int16_t)(((int32_t)(slope * at + (1u << 14)) >> 15) + curve[0]);
}

/* Channels times the gains for their noise; what is small gets smaller: x^2 / 4 below 2, x - 1 from there on. */
static inline void mote_gain(const mote_gain_t *p, const uint32_t *in, const uint32_t *noise, uint32_t *out) {
    for (int32_t i = 0; i < p->channels; i++) {
        const uint32_t gain = (uint32_t)(int32_t)mote_gain_of(p->table, noise[i]);
        const uint32_t snr = (uint32_t)(((uint64_t)in[i] * gain) >> p->shift);
        out[i] = snr < 2u << 12 ? (snr * snr) >> 20 : (snr >> 6) - 64;
    }
}

#endif
