/* mote_flash.h: the flash that a firmware hands over, and where in it records are kept. */
#ifndef MOTE_FLASH_H
#define MOTE_FLASH_H

#include <stdint.h>

/* A part of the flash: its first byte and its size in bytes, and how many bytes are erased at once there. */
typedef struct {
    uint32_t at, bytes, sector;
} mote_area_t;

/* Flash: erasing sets all bits of a sector to 1, writing sets some to 0. No unit of `unit` bytes is ever written twice
 * without being erased between. Functions return 0 where all went well. */
typedef struct {
    const uint8_t *base; /* where byte 0 can be read: models run where they lie; NULL where `read` does it */
    uint32_t unit;       /* bytes that are written at once, or multiples of them: a power of two, at most 256 */
    int (*erase)(void *context, uint32_t at, uint32_t bytes); /* one sector */
    int (*write)(void *context, uint32_t at, const uint8_t *data, uint32_t bytes);
    int (*read)(void *context, uint32_t at, uint8_t *data, uint32_t bytes); /* NULL: from `base`; fails where bytes with
                                                                              error correction cannot be read */
    void *context;
} mote_flash_t;

#define MOTE_RECORDS_BUFFER 256u

/* Where records are kept, one after another. The area holds two at least, in sectors of their own; the more it holds,
 * the less often a sector is erased. */
typedef struct {
    const mote_flash_t *flash;
    mote_area_t area;
    uint8_t *buffer; /* MOTE_RECORDS_BUFFER bytes, which are used while a record is written */
} mote_records_t;

#endif
