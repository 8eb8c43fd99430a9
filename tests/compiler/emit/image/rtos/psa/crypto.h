/* psa/crypto.h: what the adapter uses of PSA Crypto, for tests on a computer. Keys are kept in an array; the signature
 * is verified by mote_ed25519.c. The numbers are those of the specification. */
#ifndef PSA_CRYPTO_H
#define PSA_CRYPTO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "mote_ed25519.h"

typedef int32_t psa_status_t;
typedef uint32_t psa_key_id_t, psa_algorithm_t, psa_key_usage_t;
typedef uint16_t psa_key_type_t;
typedef struct {
    psa_key_type_t type;
    size_t bits;
    psa_key_usage_t usage;
    psa_algorithm_t algorithm;
} psa_key_attributes_t;

#define PSA_SUCCESS ((psa_status_t)0)
#define PSA_ERROR_NOT_SUPPORTED ((psa_status_t)-134)
#define PSA_ERROR_INVALID_ARGUMENT ((psa_status_t)-135)
#define PSA_ERROR_INVALID_HANDLE ((psa_status_t)-136)
#define PSA_ERROR_INSUFFICIENT_MEMORY ((psa_status_t)-141)
#define PSA_ERROR_INVALID_SIGNATURE ((psa_status_t)-149)
#define PSA_ALG_PURE_EDDSA ((psa_algorithm_t)0x06000800)
#define PSA_ECC_FAMILY_TWISTED_EDWARDS ((uint8_t)0x42)
#define PSA_KEY_TYPE_ECC_PUBLIC_KEY(curve) ((psa_key_type_t)(0x4100 | (curve)))
#define PSA_KEY_USAGE_VERIFY_MESSAGE ((psa_key_usage_t)0x00000800)
#define PSA_KEY_ATTRIBUTES_INIT {0, 0, 0, 0}
#define KEYS 2

static uint8_t keys[KEYS][32];
static int held[KEYS];

static inline void psa_set_key_type(psa_key_attributes_t *a, psa_key_type_t type) { a->type = type; }
static inline void psa_set_key_bits(psa_key_attributes_t *a, size_t bits) { a->bits = bits; }
static inline void psa_set_key_usage_flags(psa_key_attributes_t *a, psa_key_usage_t usage) { a->usage = usage; }
static inline void psa_set_key_algorithm(psa_key_attributes_t *a, psa_algorithm_t algorithm) { a->algorithm = algorithm; }

static inline psa_status_t psa_import_key(const psa_key_attributes_t *a, const uint8_t *data, size_t bytes,
                                          psa_key_id_t *key) {
    if (a->type != 0x4142 || a->bits != 255 || a->usage != 0x800 || a->algorithm != PSA_ALG_PURE_EDDSA || bytes != 32)
        return PSA_ERROR_NOT_SUPPORTED;
    if (data[31] == 0xff) return PSA_ERROR_INVALID_ARGUMENT; /* y is too large */
    for (*key = 1; *key <= KEYS; (*key)++)
        if (!held[*key - 1]) {
            held[*key - 1] = 1;
            memcpy(keys[*key - 1], data, 32);
            return PSA_SUCCESS;
        }
    return PSA_ERROR_INSUFFICIENT_MEMORY;
}
static inline psa_status_t psa_destroy_key(psa_key_id_t key) {
    held[key - 1] = 0;
    return PSA_SUCCESS;
}
static inline psa_status_t psa_verify_message(psa_key_id_t key, psa_algorithm_t algorithm, const uint8_t *input,
                                              size_t bytes, const uint8_t *signature, size_t signature_bytes) {
    const mote_message_t message = {input, NULL, NULL, (uint32_t)bytes};
    if (key < 1 || key > KEYS || !held[key - 1]) return PSA_ERROR_INVALID_HANDLE;
    if (algorithm != PSA_ALG_PURE_EDDSA || signature_bytes != 64) return PSA_ERROR_INVALID_ARGUMENT;
    return mote_ed25519_verify(NULL, signature, keys[key - 1], &message) == MOTE_SIGNATURE_VALID
               ? PSA_SUCCESS
               : PSA_ERROR_INVALID_SIGNATURE;
}

#endif
