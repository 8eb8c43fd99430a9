/* mote_sha512.c: SHA-512, for little code: one round in a loop, the message schedule in the 16 words of the block. */
#include "mote_sha512.h"

#include <string.h>

#define BLOCK 128u

static const uint64_t rounds[80] = {
    UINT64_C(0x428a2f98d728ae22), UINT64_C(0x7137449123ef65cd), UINT64_C(0xb5c0fbcfec4d3b2f),
    UINT64_C(0xe9b5dba58189dbbc), UINT64_C(0x3956c25bf348b538), UINT64_C(0x59f111f1b605d019),
    UINT64_C(0x923f82a4af194f9b), UINT64_C(0xab1c5ed5da6d8118), UINT64_C(0xd807aa98a3030242),
    UINT64_C(0x12835b0145706fbe), UINT64_C(0x243185be4ee4b28c), UINT64_C(0x550c7dc3d5ffb4e2),
    UINT64_C(0x72be5d74f27b896f), UINT64_C(0x80deb1fe3b1696b1), UINT64_C(0x9bdc06a725c71235),
    UINT64_C(0xc19bf174cf692694), UINT64_C(0xe49b69c19ef14ad2), UINT64_C(0xefbe4786384f25e3),
    UINT64_C(0x0fc19dc68b8cd5b5), UINT64_C(0x240ca1cc77ac9c65), UINT64_C(0x2de92c6f592b0275),
    UINT64_C(0x4a7484aa6ea6e483), UINT64_C(0x5cb0a9dcbd41fbd4), UINT64_C(0x76f988da831153b5),
    UINT64_C(0x983e5152ee66dfab), UINT64_C(0xa831c66d2db43210), UINT64_C(0xb00327c898fb213f),
    UINT64_C(0xbf597fc7beef0ee4), UINT64_C(0xc6e00bf33da88fc2), UINT64_C(0xd5a79147930aa725),
    UINT64_C(0x06ca6351e003826f), UINT64_C(0x142929670a0e6e70), UINT64_C(0x27b70a8546d22ffc),
    UINT64_C(0x2e1b21385c26c926), UINT64_C(0x4d2c6dfc5ac42aed), UINT64_C(0x53380d139d95b3df),
    UINT64_C(0x650a73548baf63de), UINT64_C(0x766a0abb3c77b2a8), UINT64_C(0x81c2c92e47edaee6),
    UINT64_C(0x92722c851482353b), UINT64_C(0xa2bfe8a14cf10364), UINT64_C(0xa81a664bbc423001),
    UINT64_C(0xc24b8b70d0f89791), UINT64_C(0xc76c51a30654be30), UINT64_C(0xd192e819d6ef5218),
    UINT64_C(0xd69906245565a910), UINT64_C(0xf40e35855771202a), UINT64_C(0x106aa07032bbd1b8),
    UINT64_C(0x19a4c116b8d2d0c8), UINT64_C(0x1e376c085141ab53), UINT64_C(0x2748774cdf8eeb99),
    UINT64_C(0x34b0bcb5e19b48a8), UINT64_C(0x391c0cb3c5c95a63), UINT64_C(0x4ed8aa4ae3418acb),
    UINT64_C(0x5b9cca4f7763e373), UINT64_C(0x682e6ff3d6b2b8a3), UINT64_C(0x748f82ee5defb2fc),
    UINT64_C(0x78a5636f43172f60), UINT64_C(0x84c87814a1f0ab72), UINT64_C(0x8cc702081a6439ec),
    UINT64_C(0x90befffa23631e28), UINT64_C(0xa4506cebde82bde9), UINT64_C(0xbef9a3f7b2c67915),
    UINT64_C(0xc67178f2e372532b), UINT64_C(0xca273eceea26619c), UINT64_C(0xd186b8c721c0c207),
    UINT64_C(0xeada7dd6cde0eb1e), UINT64_C(0xf57d4f7fee6ed178), UINT64_C(0x06f067aa72176fba),
    UINT64_C(0x0a637dc5a2c898a6), UINT64_C(0x113f9804bef90dae), UINT64_C(0x1b710b35131c471b),
    UINT64_C(0x28db77f523047d84), UINT64_C(0x32caab7b40c72493), UINT64_C(0x3c9ebe0a15c9bebc),
    UINT64_C(0x431d67c49c100d4c), UINT64_C(0x4cc5d4becb3e42b6), UINT64_C(0x597f299cfc657e2a),
    UINT64_C(0x5fcb6fab3ad6faec), UINT64_C(0x6c44198c4a475817),
};

static const uint64_t initial[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179),
};

static uint64_t rotated(uint64_t x, uint32_t by) { return x >> by | x << (64u - by); }

static uint64_t big_endian(const uint8_t *at) {
    uint32_t high = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    uint32_t low = (uint32_t)at[4] << 24 | (uint32_t)at[5] << 16 | (uint32_t)at[6] << 8 | at[7];
    return (uint64_t)high << 32 | low;
}

/* Word i of the message schedule, in place of the one 16 words before it. */
static void schedule(uint64_t block[16], uint32_t i) {
    const uint64_t a = block[(i + 1u) % 16u], b = block[(i + 14u) % 16u];
    const uint64_t small0 = rotated(a, 1) ^ rotated(a, 8) ^ a >> 7;
    const uint64_t small1 = rotated(b, 19) ^ rotated(b, 61) ^ b >> 6;
    block[i] += small0 + small1 + block[(i + 9u) % 16u];
}

/* Takes the full block in. The working variables a..h are v[0..7]; they do not move, v does: by one each round. */
static void compress(mote_sha512_t *hash) {
    uint64_t window[8 + 16], *v;
    uint32_t i, round;
    for (i = 0; i < 16u; i++) hash->block[i] = big_endian((const uint8_t *)&hash->block[i]);
    memcpy(window, hash->state, sizeof hash->state);
    for (round = 0; round < 80u; round += 16u) {
        v = &window[16];
        memcpy(v, window, sizeof hash->state);
        for (i = 0; i < 16u; i++, v--) {
            const uint64_t sum1 = rotated(v[4], 14) ^ rotated(v[4], 18) ^ rotated(v[4], 41);
            const uint64_t choice = (v[4] & (v[5] ^ v[6])) ^ v[6];
            const uint64_t first = v[7] + sum1 + choice + rounds[round + i] + hash->block[i];
            const uint64_t sum0 = rotated(v[0], 28) ^ rotated(v[0], 34) ^ rotated(v[0], 39);
            const uint64_t majority = (v[0] & (v[1] | v[2])) | (v[1] & v[2]);
            v[3] += first;
            v[-1] = first + sum0 + majority;
            if (round < 64u) schedule(hash->block, i);
        }
    }
    for (i = 0; i < 8u; i++) hash->state[i] += window[i];
}

void mote_sha512_begin(mote_sha512_t *hash) {
    memcpy(hash->state, initial, sizeof hash->state);
    hash->bytes = 0;
}

void mote_sha512_update(mote_sha512_t *hash, const void *data, size_t bytes) {
    const uint8_t *from = data;
    while (bytes > 0u) {
        const size_t used = (size_t)(hash->bytes % BLOCK);
        const size_t room = BLOCK - used, some = bytes < room ? bytes : room;
        memcpy((uint8_t *)hash->block + used, from, some);
        hash->bytes += some;
        from += some;
        bytes -= some;
        if (some == room) compress(hash);
    }
}

void mote_sha512_end(mote_sha512_t *hash, uint8_t digest[64]) {
    const uint64_t bits = hash->bytes * 8u;
    uint8_t padding = 0x80;
    uint8_t length[16] = {0};
    uint32_t i;
    do {
        mote_sha512_update(hash, &padding, 1);
        padding = 0;
    } while (hash->bytes % BLOCK != BLOCK - sizeof length);
    for (i = 0; i < 8u; i++) length[8u + i] = (uint8_t)(bits >> (56u - 8u * i));
    mote_sha512_update(hash, length, sizeof length);
    for (i = 0; i < 64u; i++) digest[i] = (uint8_t)(hash->state[i / 8u] >> (56u - 8u * (i % 8u)));
}
