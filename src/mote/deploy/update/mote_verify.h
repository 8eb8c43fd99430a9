/* mote_verify.h: how an update asks whether a signature is genuine, and who answers.
 *
 * The update module calls one function, a mote_verify_fn. The default is mote_ed25519_verify (mote_ed25519.h), software
 * for any core. A firmware that has a crypto library or an accelerator hands over its own function instead: the
 * adapter `psa` does so with psa_verify_message of PSA Crypto.
 */
#ifndef MOTE_VERIFY_H
#define MOTE_VERIFY_H

#include <stdint.h>

#define MOTE_SIGNATURE_BYTES 64u
#define MOTE_PUBLIC_KEY_BYTES 32u

/* What a verifier says. Only the first lets an image in; it is a pattern and not 0 or 1, so that neither a cleared nor
 * a forgotten value is taken for it: compare with `== MOTE_SIGNATURE_VALID`. */
typedef enum {
    MOTE_SIGNATURE_VALID = 0x3ca5965a,
    MOTE_SIGNATURE_WRONG = 1,  /* not made by this key for this message, or not well formed */
    MOTE_SIGNATURE_KEY = 2,    /* the public key is none: not a point of the curve, not canonical or of small order */
    MOTE_SIGNATURE_UNREAD = 3, /* the message could not be read */
    MOTE_SIGNATURE_UNABLE = 4  /* this verifier cannot: it is not ready, or needs the message in memory */
} mote_verdict_t;

/* Reads `bytes` bytes of a message from `offset` on into `to`; returns 0, or anything else where it cannot. */
typedef int (*mote_read_fn)(void *from, uint32_t offset, uint8_t *to, uint32_t bytes);

/* What was signed. It lies in memory, such as flash that is mapped (`data`), or is read in blocks (`data` is NULL):
 * from offset 0 on, every byte once, in order, at most MOTE_READ_BYTES at a time. */
typedef struct {
    const uint8_t *data;
    mote_read_fn read;
    void *from; /* handed to `read` */
    uint32_t bytes;
} mote_message_t;

#define MOTE_READ_BYTES 128u

/* Whether `signature` was made for the message with the private key that belongs to `public_key`. `context` is
 * whatever the verifier needs, handed through. */
typedef mote_verdict_t (*mote_verify_fn)(void *context, const uint8_t signature[64], const uint8_t public_key[32],
                                           const mote_message_t *message);

#endif
