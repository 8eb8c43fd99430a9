/* SPDX-License-Identifier: Apache-2.0 */
/* mote_aes.h: AES-CTR in plain C, a reference for tests and for cores without an AES engine.
 *
 * No table and no branch depends on key or data: S-boxes are computed for 16 bytes at once, one bit of each in a word.
 * That resists timing attacks through caches, and is slow. Power analysis it does not resist. Use the AES engine of your
 * part, or the library that your firmware has, where there is one.
 */
#ifndef MOTE_AES_H
#define MOTE_AES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint8_t keys[15][16];
    uint32_t rounds;
} mote_aes_t;

/* Products in GF(2^8) of 16 pairs of bytes, bit i of each byte in a[i]. */
static inline void mote_aes_multiply(const uint32_t *a, const uint32_t *b, uint32_t *product) {
    uint32_t sums[15] = {0};
    for (uint32_t i = 0; i < 8u; i++) {
        for (uint32_t j = 0; j < 8u; j++) {
            sums[i + j] ^= a[i] & b[j];
        }
    }
    for (uint32_t i = 14; i >= 8u; i--) { /* x^8 = x^4 + x^3 + x + 1 */
        sums[i - 4u] ^= sums[i];
        sums[i - 5u] ^= sums[i];
        sums[i - 7u] ^= sums[i];
        sums[i - 8u] ^= sums[i];
    }
    memcpy(product, sums, 8 * sizeof sums[0]);
}

static inline void mote_aes_square(const uint32_t *a, uint32_t *square, uint32_t times) {
    uint32_t base[8];
    memcpy(base, a, sizeof base);
    for (uint32_t i = 0; i < times; i++) {
        mote_aes_multiply(base, base, base);
    }
    memcpy(square, base, sizeof base);
}

/* The S-box of 16 bytes: x^254, then a map of bits. */
static inline void mote_aes_substitute(uint8_t *bytes) {
    uint32_t x[8] = {0}, x2[8], x3[8], x12[8], y[8];
    for (uint32_t i = 0; i < 16u; i++) {
        for (uint32_t j = 0; j < 8u; j++) {
            x[j] |= (((uint32_t)bytes[i] >> j) & 1u) << i;
        }
    }
    mote_aes_square(x, x2, 1);
    mote_aes_multiply(x2, x, x3);
    mote_aes_square(x3, x12, 2);
    mote_aes_multiply(x12, x3, y); /* x^15 */
    mote_aes_square(y, y, 4);
    mote_aes_multiply(y, x12, y); /* x^252 */
    mote_aes_multiply(y, x2, y);  /* x^254 */
    for (uint32_t j = 0; j < 8u; j++) {
        const uint32_t bit = (0x63u >> j) & 1u;
        x[j] = y[j] ^ y[(j + 4u) & 7u] ^ y[(j + 5u) & 7u] ^ y[(j + 6u) & 7u] ^ y[(j + 7u) & 7u] ^ (bit * 0xffffu);
    }
    for (uint32_t i = 0; i < 16u; i++) {
        uint32_t value = 0;
        for (uint32_t j = 0; j < 8u; j++) {
            value |= ((x[j] >> i) & 1u) << j;
        }
        bytes[i] = (uint8_t)value;
    }
}

static inline uint8_t mote_aes_double(uint8_t x) {
    return (uint8_t)(((uint32_t)x << 1) ^ (((uint32_t)x >> 7) * 0x1bu));
}

/* The keys of all rounds, from a key of 16 or 32 bytes. */
static inline void mote_aes_init(mote_aes_t *aes, const uint8_t *key, size_t bytes) {
    const uint32_t words = (uint32_t)bytes / 4u;
    uint8_t *all = &aes->keys[0][0];
    uint8_t constant = 1;
    aes->rounds = words + 6u;
    memcpy(all, key, bytes);
    for (uint32_t i = words; i < 4u * (aes->rounds + 1u); i++) {
        uint8_t last[16] = {0};
        memcpy(last, all + 4u * (i - 1u), 4);
        if (i % words == 0u) {
            const uint8_t first = last[0];
            memmove(last, last + 1, 3);
            last[3] = first;
            mote_aes_substitute(last);
            last[0] ^= constant;
            constant = mote_aes_double(constant);
        } else if (words > 6u && i % words == 4u) {
            mote_aes_substitute(last);
        }
        for (uint32_t j = 0; j < 4u; j++) {
            all[4u * i + j] = (uint8_t)(all[4u * (i - words) + j] ^ last[j]);
        }
    }
}

static inline void mote_aes_add(uint8_t *block, const uint8_t *key) {
    for (uint32_t i = 0; i < 16u; i++) {
        block[i] ^= key[i];
    }
}

/* One block, encrypted in place. */
static inline void mote_aes_encrypt(const mote_aes_t *aes, uint8_t *block) {
    mote_aes_add(block, aes->keys[0]);
    for (uint32_t round = 1; round <= aes->rounds; round++) {
        uint8_t old[16];
        mote_aes_substitute(block);
        memcpy(old, block, sizeof old);
        for (uint32_t i = 0; i < 16u; i++) { /* rows move left by 0, 1, 2 and 3 columns */
            block[i] = old[(i + 4u * (i & 3u)) & 15u];
        }
        if (round < aes->rounds) {
            for (uint32_t i = 0; i < 16u; i += 4u) {
                uint8_t *const c = block + i;
                const uint8_t first = c[0], all = (uint8_t)(c[0] ^ c[1] ^ c[2] ^ c[3]);
                for (uint32_t j = 0; j < 4u; j++) {
                    const uint8_t next = j < 3u ? c[j + 1u] : first;
                    c[j] = (uint8_t)(c[j] ^ all ^ mote_aes_double((uint8_t)(c[j] ^ next)));
                }
            }
        }
        mote_aes_add(block, aes->keys[round]);
    }
}

/* Encrypts or decrypts, from the block `counter` on. */
static inline void mote_aes_ctr(const mote_aes_t *aes, uint8_t *to, const uint8_t *from, size_t bytes,
                                const uint8_t *counter) {
    uint8_t next[16];
    memcpy(next, counter, sizeof next);
    for (size_t at = 0; at < bytes; at += 16u) {
        uint8_t stream[16];
        memcpy(stream, next, sizeof stream);
        mote_aes_encrypt(aes, stream);
        for (size_t i = 0; i < 16u && at + i < bytes; i++) {
            to[at + i] = (uint8_t)(from[at + i] ^ stream[i]);
        }
        for (uint32_t i = 16, carry = 1; i > 0u; i--) {
            carry += next[i - 1u];
            next[i - 1u] = (uint8_t)carry;
            carry >>= 8;
        }
    }
}

#endif
