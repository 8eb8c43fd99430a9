/* mote_mac.h: what vouches for data with a key: a message authentication code. */
#ifndef MOTE_MAC_H
#define MOTE_MAC_H

#include <stdint.h>

#define MOTE_MAC_BYTES 16u

/* Makes the MAC of a message that is handed over piece by piece, with a key that whoever hands this over knows: software
 * (mote_hmac.h), a crypto library, or an engine whose key nobody reads. Pieces may have no bytes. A MAC that was begun
 * may be given up for another one. */
typedef struct {
    void (*begin)(void *context);
    void (*put)(void *context, const void *data, uint32_t bytes);
    int (*end)(void *context, uint8_t *mac); /* MOTE_MAC_BYTES; returns 0, or anything else where it has failed */
    void *context;
} mote_mac_t;

/* Takes as long wherever they differ. */
static inline int mote_mac_equal(const uint8_t *a, const uint8_t *b) {
    uint32_t different = 0;
    for (uint32_t i = 0; i < MOTE_MAC_BYTES; i++) {
        different |= (uint32_t)a[i] ^ b[i];
    }
    return different == 0;
}

#endif
