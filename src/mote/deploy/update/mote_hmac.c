/* mote_hmac.c: what mote_hmac.h declares. No branch and no address depends on the key. */
#include "mote_hmac.h"

#include <string.h>

#define BLOCK 128u
#define DIGEST 64u

/* Begins a hash with the block of the key, each byte changed by `with`. */
static void begin_with(mote_hmac_t *hmac, uint8_t with) {
    uint8_t block[BLOCK] = {0};
    if (hmac->bytes > BLOCK) {
        mote_sha512_begin(&hmac->hash);
        mote_sha512_update(&hmac->hash, hmac->key, (size_t)hmac->bytes);
        mote_sha512_end(&hmac->hash, block);
    } else {
        memcpy(block, hmac->key, (size_t)hmac->bytes);
    }
    for (uint32_t i = 0; i < BLOCK; i++) block[i] ^= with;
    mote_sha512_begin(&hmac->hash);
    mote_sha512_update(&hmac->hash, block, BLOCK);
}

static void begin(void *context) { begin_with((mote_hmac_t *)context, 0x36); }

static void put(void *context, const void *data, uint32_t bytes) {
    mote_sha512_update(&((mote_hmac_t *)context)->hash, data, (size_t)bytes);
}

static int end(void *context, uint8_t *mac) {
    mote_hmac_t *const hmac = (mote_hmac_t *)context;
    uint8_t digest[DIGEST];
    mote_sha512_end(&hmac->hash, digest);
    begin_with(hmac, 0x5c);
    mote_sha512_update(&hmac->hash, digest, DIGEST);
    mote_sha512_end(&hmac->hash, digest);
    memcpy(mac, digest, MOTE_MAC_BYTES);
    return 0;
}

mote_mac_t mote_hmac(mote_hmac_t *hmac, const uint8_t *key, uint32_t bytes) {
    const mote_mac_t mac = {begin, put, end, hmac};
    hmac->key = key;
    hmac->bytes = bytes;
    return mac;
}
