/* mote_records.h: records one after another in flash, all of as many words; the newest that is whole holds.
 *
 * A record begins with its number and ends with the CRC-32 of all before: one that was torn has a wrong one and is passed
 * over. Sectors are erased in blocks, the fewest that hold a record. When a block is full the next one is erased and gets
 * the next record; the newest is in another one until that is complete. What is left of a block that was erased by half
 * is older than the newest record. Records and all else are little-endian, and so must be the core.
 */
#ifndef MOTE_RECORDS_H
#define MOTE_RECORDS_H

#include <string.h>

#include "mote_crc.h"
#include "mote_flash.h"

#define MOTE_RECORDS_PIECE 64u /* bytes that are read at once */

static inline int mote_flash_read(const mote_flash_t *flash, uint32_t at, void *data, uint32_t bytes) {
    if (flash->read != NULL) {
        return flash->read(flash->context, at, (uint8_t *)data, bytes);
    }
    memcpy(data, flash->base + at, (size_t)bytes);
    return 0;
}

/* Whether all bits are 1 from `at` on, in whole words. */
static inline int mote_flash_blank(const mote_flash_t *flash, uint32_t at, uint32_t bytes) {
    for (; bytes != 0; at += 4u, bytes -= 4u) {
        uint32_t word;
        if (mote_flash_read(flash, at, &word, sizeof word) != 0 || word != UINT32_MAX) {
            return 0;
        }
    }
    return 1;
}

/* Bytes from one record to the next. */
static inline uint32_t mote_record_stride(const mote_records_t *records, uint32_t bytes) {
    const uint32_t unit = records->flash->unit;
    return (bytes + unit - 1u) & ~(unit - 1u);
}

/* Bytes that are erased for one record, or for several. */
static inline uint32_t mote_record_block(const mote_records_t *records, uint32_t bytes) {
    const uint32_t sector = records->area.sector;
    return (mote_record_stride(records, bytes) + sector - 1u) / sector * sector;
}

/* Records in a block, and in all blocks. */
static inline uint32_t mote_records_each(const mote_records_t *records, uint32_t bytes) {
    return mote_record_block(records, bytes) / mote_record_stride(records, bytes);
}

static inline uint32_t mote_records_count(const mote_records_t *records, uint32_t bytes) {
    return records->area.bytes / mote_record_block(records, bytes) * mote_records_each(records, bytes);
}

/* Where the record of a place is: places are counted from 0 on, block after block. */
static inline uint32_t mote_record_at(const mote_records_t *records, uint32_t bytes, uint32_t place) {
    const uint32_t each = mote_records_each(records, bytes);
    return records->area.at + place / each * mote_record_block(records, bytes) +
           place % each * mote_record_stride(records, bytes);
}

/* Whether the description can be believed, and two records of so many bytes fit into blocks of their own. */
static inline int mote_records_fit(const mote_records_t *records, uint32_t bytes) {
    if (records == NULL || records->flash == NULL || records->buffer == NULL || bytes < 8u || bytes % 4u != 0) {
        return 0;
    }
    const mote_flash_t *const flash = records->flash;
    const mote_area_t *const area = &records->area;
    if (flash->erase == NULL || flash->write == NULL || (flash->read == NULL && flash->base == NULL) || flash->unit == 0 ||
        (flash->unit & (flash->unit - 1u)) != 0 || flash->unit > MOTE_RECORDS_BUFFER) {
        return 0;
    }
    if (area->sector == 0 || area->sector % flash->unit != 0 || area->bytes % area->sector != 0 ||
        area->at % flash->unit != 0 || area->bytes > INT32_MAX || area->at > UINT32_MAX - area->bytes) {
        return 0;
    }
    return bytes <= area->bytes && area->bytes / mote_record_block(records, bytes) >= 2u;
}

/* Whether a number is a later one than another: numbers go round, and the later one is ahead by less than half of them. */
static inline int mote_record_later(uint32_t number, uint32_t other) {
    return number != other && number - other <= (uint32_t)INT32_MAX;
}

/* Whether the CRC-32 of the record that begins at `at` is right. */
static inline int mote_record_whole(const mote_flash_t *flash, uint32_t at, uint32_t bytes) {
    uint8_t piece[MOTE_RECORDS_PIECE];
    uint32_t crc = 0, wanted;
    for (uint32_t left = bytes - 4u; left > 0;) {
        const uint32_t some = left < sizeof piece ? left : (uint32_t)sizeof piece;
        if (mote_flash_read(flash, at, piece, some) != 0) {
            return 0;
        }
        crc = mote_crc(crc, piece, (size_t)some, 1);
        at += some;
        left -= some;
    }
    return mote_flash_read(flash, at, &wanted, sizeof wanted) == 0 && wanted == crc;
}

/* A record that is being written. */
typedef struct {
    const mote_records_t *records;
    uint32_t at, fill, crc; /* the next byte of flash, bytes in the buffer, the CRC-32 so far */
    int failed;
} mote_record_writer_t;

/* The place for a record behind the newest one: `next` or, where nothing but torn records is left in its block, the first
 * of the block behind. */
static inline uint32_t mote_record_behind(const mote_records_t *records, uint32_t bytes, uint32_t next) {
    const uint32_t each = mote_records_each(records, bytes), stride = mote_record_stride(records, bytes);
    while (next % each != 0 && !mote_flash_blank(records->flash, mote_record_at(records, bytes, next), stride)) {
        next++;
    }
    return next % mote_records_count(records, bytes);
}

/* Begins a record at a place; where that is the first of a block, the block is erased. */
static inline void mote_record_begin(mote_record_writer_t *writer, const mote_records_t *records, uint32_t bytes,
                                     uint32_t place) {
    const mote_flash_t *const flash = records->flash;
    const uint32_t sector = records->area.sector, stride = mote_record_stride(records, bytes);
    writer->records = records;
    writer->at = mote_record_at(records, bytes, place);
    writer->fill = writer->crc = 0;
    writer->failed = 0;
    if (place % mote_records_each(records, bytes) == 0) {
        for (uint32_t done = 0; done < stride && !writer->failed; done += sector) {
            writer->failed = flash->erase(flash->context, writer->at + done, sector) != 0;
        }
    }
}

static inline void mote_record_flush(mote_record_writer_t *writer) {
    const mote_flash_t *const flash = writer->records->flash;
    const uint32_t bytes = (writer->fill + flash->unit - 1u) & ~(flash->unit - 1u);
    memset(writer->records->buffer + writer->fill, 0xff, (size_t)(bytes - writer->fill));
    if (bytes != 0 && !writer->failed) {
        writer->failed = flash->write(flash->context, writer->at, writer->records->buffer, bytes) != 0;
    }
    writer->at += bytes;
    writer->fill = 0;
}

static inline void mote_record_put(mote_record_writer_t *writer, const void *data, uint32_t bytes) {
    const uint8_t *from = (const uint8_t *)data;
    writer->crc = mote_crc(writer->crc, data, (size_t)bytes, 1);
    while (bytes > 0) {
        const uint32_t room = MOTE_RECORDS_BUFFER - writer->fill, some = bytes < room ? bytes : room;
        memcpy(writer->records->buffer + writer->fill, from, (size_t)some);
        writer->fill += some;
        from += some;
        bytes -= some;
        if (writer->fill == MOTE_RECORDS_BUFFER) {
            mote_record_flush(writer);
        }
    }
}

/* The CRC-32, with which the record holds; whether it can be read as it was written. */
static inline int mote_record_end(mote_record_writer_t *writer, uint32_t bytes, uint32_t place) {
    const uint32_t crc = writer->crc;
    mote_record_put(writer, &crc, sizeof crc);
    mote_record_flush(writer);
    return !writer->failed &&
           mote_record_whole(writer->records->flash, mote_record_at(writer->records, bytes, place), bytes);
}

#endif
