/* mote_crc.h: the CRC-32 by which a model knows its constants and its saved states: the one of zip and Ethernet
 * (polynomial 0xedb88320, reflected), which sees every error of up to 32 neighbouring bits.
 */
#ifndef MOTE_CRC_H
#define MOTE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are read as elements of one width. */
typedef struct {
    const void *data;
    uint32_t bytes;
} mote_constant_t;

/* A CRC that begins with 0, continued over elements of 1, 2, 4 or 8 bytes: the lowest byte of each comes first, on any
 * core. */
static inline uint32_t mote_crc(uint32_t crc, const void *data, size_t bytes, size_t width) {
    static const uint32_t of_nibble[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
        0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    const uint16_t one = 1;
    const size_t swap = *(const uint8_t *)&one == 1 ? 0 : width - 1;
    const uint8_t *const from = (const uint8_t *)data;
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= from[i ^ swap];
        crc = crc >> 4 ^ of_nibble[crc & 15];
        crc = crc >> 4 ^ of_nibble[crc & 15];
    }
    return ~crc;
}

/* Continued over words that lie anywhere. */
static inline uint32_t mote_crc_words(uint32_t crc, const void *const *words, size_t count) {
    for (size_t i = 0; i < count; i++) {
        crc = mote_crc(crc, words[i], 4, 4);
    }
    return crc;
}

static inline uint32_t mote_crc_constants(uint32_t crc, const mote_constant_t *constants, size_t count, size_t width) {
    for (size_t i = 0; i < count; i++) {
        crc = mote_crc(crc, constants[i].data, (size_t)constants[i].bytes, width);
    }
    return crc;
}

#endif
