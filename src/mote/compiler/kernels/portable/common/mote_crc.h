/* mote_crc.h: the CRC-32 by which a model knows its constants and its saved states: the one of zip and Ethernet
 * (polynomial 0xedb88320, reflected), which sees every error of up to 32 neighbouring bits.
 */
#ifndef MOTE_CRC_H
#define MOTE_CRC_H

#include "mote_compiler.h"

/* Bytes that are read as elements of one width. Where they end is there twice: an entry that contradicts itself is
 * damaged, and its address not to be followed. */
typedef struct {
    const void *data, *end;
    uint32_t bytes;
} mote_constant_t;

/* A pointer in flash, where it ends, and what it must be. */
typedef struct {
    const void *at, *end, *value;
} mote_address_t;

/* A CRC that begins with 0, continued over elements of 1, 2, 4 or 8 bytes: the lowest byte of each comes first, on any
 * core. `load` reads a byte. */
#define MOTE_CRC_OF(name, load) \
    static inline uint32_t name(uint32_t crc, const void *data, size_t bytes, size_t width) { \
        static const uint32_t of_nibble[16] MOTE_FLASH = { \
            0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu, \
            0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu, \
        }; \
        const uint16_t one = 1; \
        const size_t swap = *(const uint8_t *)&one == 1 ? 0 : width - 1; \
        const uint8_t *const from = (const uint8_t *)data; \
        crc = ~crc; \
        for (size_t i = 0; i < bytes; i++) { \
            crc ^= load(from + (i ^ swap)); \
            crc = crc >> 4 ^ mote_flash_u32(of_nibble + (crc & 15)); \
            crc = crc >> 4 ^ mote_flash_u32(of_nibble + (crc & 15)); \
        } \
        return ~crc; \
    }

#define MOTE_CRC_LOAD(from) (*(from))
MOTE_CRC_OF(mote_crc, MOTE_CRC_LOAD)
#ifdef MOTE_FLASH_APART
MOTE_CRC_OF(mote_crc_flash, mote_flash_u8)
#else
#define mote_crc_flash mote_crc
#endif

/* Continued over constants that lie anywhere; gives 0 where an entry contradicts itself. */
static inline int mote_crc_constants(uint32_t *crc, const mote_constant_t *constants, size_t count, size_t width) {
    MOTE_LOOK_AT(constants);
    for (size_t i = 0; i < count; i++) {
        mote_constant_t c;
        mote_flash_copy(&c, &constants[i], sizeof c);
        if ((uintptr_t)c.end - (uintptr_t)c.data != c.bytes) {
            return 0;
        }
        *crc = mote_crc_flash(*crc, c.data, (size_t)c.bytes, width);
    }
    return 1;
}

/* Whether pointers in flash are what they must be. */
static inline int mote_addresses_hold(const mote_address_t *addresses, size_t count) {
    MOTE_LOOK_AT(addresses);
    for (size_t i = 0; i < count; i++) {
        mote_address_t a;
        const void *value;
        mote_flash_copy(&a, &addresses[i], sizeof a);
        if ((uintptr_t)a.end - (uintptr_t)a.at != sizeof value) {
            return 0;
        }
        mote_flash_copy(&value, a.at, sizeof value);
        if (value != a.value) {
            return 0;
        }
    }
    return 1;
}

#endif
