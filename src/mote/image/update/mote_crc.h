/* mote_crc.h: CRC-32 as in zlib, PNG and Ethernet (polynomial 0x04c11db7, reflected), of data that comes in pieces. */
#ifndef MOTE_CRC_H
#define MOTE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of what `crc` is the CRC of (0: of nothing) with these bytes behind it. */
uint32_t mote_crc32(uint32_t crc, const void *data, size_t bytes);

#endif
