/* mote_ed25519.h: verification of Ed25519 signatures (RFC 8032, the pure form) in software, for little code and stack.
 *
 * Everything that a verifier handles is public (key, signature, message), so that the time it takes may depend on it,
 * and does. There is nothing here that signs.
 *
 * It is strict, so that there is one way to write a signature and none that suits many messages:
 *   - the signature's S must be less than the order of the base point: S + L is refused,
 *   - the key must be the canonical encoding of a point on the curve, and not of one of the eight points of small order,
 *   - the equation [S]B = R + [k]A is checked without the cofactor, and R by its bytes, so that R is canonical as well.
 */
#ifndef MOTE_ED25519_H
#define MOTE_ED25519_H

#include "mote_verify.h"

/* A mote_verify_fn; it needs no context. */
mote_verdict_t mote_ed25519_verify(void *context, const uint8_t signature[64], const uint8_t public_key[32],
                                     const mote_message_t *message);

#endif
