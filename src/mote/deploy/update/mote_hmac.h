/* mote_hmac.h: HMAC-SHA-512 (RFC 2104, RFC 4231), cut to 128 bits, in software: a mote_mac_t for any key. */
#ifndef MOTE_HMAC_H
#define MOTE_HMAC_H

#include "mote_mac.h"
#include "mote_sha512.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    mote_sha512_t hash;
    const uint8_t *key;
    uint32_t bytes;
} mote_hmac_t;

/* A MAC with this key, at best of 32 bytes that were drawn at random for this device. `hmac` and the key must stay where
 * they are as long as it is used, for one MAC at a time. */
mote_mac_t mote_hmac(mote_hmac_t *hmac, const uint8_t *key, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
