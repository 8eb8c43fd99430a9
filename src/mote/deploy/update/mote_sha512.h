/* mote_sha512.h: SHA-512 (FIPS 180-4) of data that comes in pieces of any size. */
#ifndef MOTE_SHA512_H
#define MOTE_SHA512_H

#include <stddef.h>
#include <stdint.h>

#define MOTE_SHA512_BYTES 64u

typedef struct {
    uint64_t state[8];
    uint64_t block[16]; /* bytes that wait until there are 128 */
    uint64_t bytes;     /* taken so far */
} mote_sha512_t;

void mote_sha512_begin(mote_sha512_t *hash);
void mote_sha512_update(mote_sha512_t *hash, const void *data, size_t bytes);
/* The hash of all that was taken; afterwards it must begin anew. */
void mote_sha512_end(mote_sha512_t *hash, uint8_t digest[64]);

#endif
