/* mote_verify_psa.h: PSA Crypto as the verifier of updates, instead of mote_ed25519.c. It needs a library that has
 * PSA_ALG_PURE_EDDSA: TF-PSA-Crypto drivers, Trusted Firmware-M with an accelerator, Oberon PSA. psa_crypto_init must
 * have been called. */
#ifndef MOTE_VERIFY_PSA_H
#define MOTE_VERIFY_PSA_H

#include "mote_verify.h"

/* A mote_verify_fn. `context` is NULL, and the public key that the update module holds is used; or it points to the
 * psa_key_id_t of a key that was provisioned, and that one is used instead. The message must lie in memory (flash that
 * is mapped), else it says MOTE_SIGNATURE_UNABLE. */
mote_verdict_t mote_psa_verify(void *context, const uint8_t signature[64], const uint8_t public_key[32],
                               const mote_message_t *message);

#endif
