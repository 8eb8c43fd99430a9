/* mote_verify_psa.c: asks psa_verify_message. */
#include "mote_verify_psa.h"

#include <stddef.h>

#include "psa/crypto.h"

static mote_verdict_t ask(psa_key_id_t key, const uint8_t signature[64], const mote_message_t *message) {
    const psa_status_t said = psa_verify_message(key, PSA_ALG_PURE_EDDSA, message->data, message->bytes, signature,
                                                 MOTE_SIGNATURE_BYTES);
    return said == PSA_SUCCESS                   ? MOTE_SIGNATURE_VALID
           : said == PSA_ERROR_INVALID_SIGNATURE ? MOTE_SIGNATURE_WRONG
                                                 : MOTE_SIGNATURE_UNABLE;
}

mote_verdict_t mote_psa_verify(void *context, const uint8_t signature[64], const uint8_t public_key[32],
                               const mote_message_t *message) {
    psa_key_attributes_t attributes = PSA_KEY_ATTRIBUTES_INIT;
    psa_key_id_t key;
    psa_status_t status;
    mote_verdict_t verdict;
    if (message->data == NULL) return MOTE_SIGNATURE_UNABLE;
    if (context != NULL) return ask(*(const psa_key_id_t *)context, signature, message);

    psa_set_key_type(&attributes, PSA_KEY_TYPE_ECC_PUBLIC_KEY(PSA_ECC_FAMILY_TWISTED_EDWARDS));
    psa_set_key_bits(&attributes, 255);
    psa_set_key_usage_flags(&attributes, PSA_KEY_USAGE_VERIFY_MESSAGE);
    psa_set_key_algorithm(&attributes, PSA_ALG_PURE_EDDSA);
    status = psa_import_key(&attributes, public_key, MOTE_PUBLIC_KEY_BYTES, &key);
    if (status == PSA_ERROR_INVALID_ARGUMENT) return MOTE_SIGNATURE_KEY;
    if (status != PSA_SUCCESS) return MOTE_SIGNATURE_UNABLE;
    verdict = ask(key, signature, message);
    (void)psa_destroy_key(key);
    return verdict;
}
