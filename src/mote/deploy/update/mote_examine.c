/* mote_examine.c: whether an image may run: what it says of itself, its CRC-32, who signed it. */
#include "mote_update_parts.h"

#define MAGIC 0x45544f4du           /* "MOTE" */
#define FORMAT (1u | (uint32_t)192 << 16)   /* and the bytes of the header */
#define ED25519 1u

/* Whether an image with its signature, if it has one, is as long as its header says. */
static int is_image(const uint8_t *image, uint32_t length) {
    if (length < MOTE_UPDATE_LEAST_IMAGE || mote_word(image, 0) != MAGIC) return 0;
    const uint32_t bytes = mote_word(image, MOTE_AT_BYTES);
    if (mote_word(image, MOTE_AT_FORMAT) != FORMAT || bytes < MOTE_UPDATE_LEAST_IMAGE || bytes > length) return 0;
    return bytes == length || length - bytes == MOTE_UPDATE_SIGNATURE;
}

int mote_image_is_intact(const uint8_t *image, uint32_t length) {
    if (!is_image(image, length)) return 0;
    const size_t bytes = (size_t)mote_word(image, MOTE_AT_BYTES) - MOTE_AT_VERSION;
    return mote_frame_crc(0, image + MOTE_AT_VERSION, bytes) == mote_word(image, MOTE_AT_CRC);
}

mote_update_status mote_image_header(const mote_update_settings_t *s, uint32_t least_version, const uint8_t *image,
                                     uint32_t length) {
    if (!is_image(image, length)) return MOTE_UPDATE_NOT_IMAGE;
    if (s->product != 0 && mote_word(image, MOTE_AT_PRODUCT) != s->product) return MOTE_UPDATE_PRODUCT;
    if (mote_word(image, MOTE_AT_VERSION) < least_version) return MOTE_UPDATE_OLD;
    return s->key_count != 0 && mote_word(image, MOTE_AT_BYTES) == length ? MOTE_UPDATE_UNSIGNED : MOTE_UPDATE_OK;
}

/* Whether one of the keys has signed the image, where there are keys. */
static mote_update_status check_signature(const mote_update_settings_t *s, const uint8_t *image) {
    const mote_message_t message = {image, NULL, NULL, mote_word(image, MOTE_AT_BYTES)};
    const uint8_t *block = image + message.bytes;
    if (s->key_count == 0) return MOTE_UPDATE_OK;
    if (mote_word(block, 0) != MOTE_SIGNATURE_MAGIC || mote_word(block, 4) != ED25519) return MOTE_UPDATE_UNSIGNED;
    for (uint32_t key = 0; key < s->key_count; key++) {
        const mote_verdict_t said = s->verify(s->verify_context, block + 16, s->keys[key], &message);
        if (said == MOTE_SIGNATURE_VALID) return MOTE_UPDATE_OK;
    }
    return MOTE_UPDATE_FORGED;
}

mote_update_status mote_update_examine(const mote_update_settings_t *settings, uint32_t least_version,
                                       const void *image, uint32_t length) {
    const uint8_t *const data = (const uint8_t *)image;
    if (!mote_image_is_intact(data, length)) return MOTE_UPDATE_DAMAGED;
    const mote_update_status status = mote_image_header(settings, least_version, data, length);
    return status == MOTE_UPDATE_OK ? check_signature(settings, data) : status;
}
