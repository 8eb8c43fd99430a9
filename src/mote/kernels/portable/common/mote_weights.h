/* mote_weights.h: what a model has learned, as a record that can be kept in flash or anywhere else, and how the model
 * knows it again.
 *
 * A record is its number, the version of this form, the model, its bytes; then the parts of the states that are learned,
 * one after another and filled up with zeros to a word; then the CRC-32 of all that. Values are looked at before they are
 * taken: a CRC is no signature.
 */
#ifndef MOTE_WEIGHTS_H
#define MOTE_WEIGHTS_H

#include "mote_records.h"

#define MOTE_WEIGHTS_VERSION 0x3154574du /* MWT1 */

enum { MOTE_WEIGHTS_ANY, MOTE_WEIGHTS_FLOAT, MOTE_WEIGHTS_INT8, MOTE_WEIGHTS_INT32 };

/* A part of the states: its first byte and its bytes, and what its values can be: anything, numbers of float32 that are
 * finite, or integers from `low` to `high`. */
typedef struct {
    uint32_t at, bytes;
    int32_t low, high;
    uint8_t kind;
} mote_weights_part_t;

/* The record of a model: what it is known by, and its bytes. */
typedef struct {
    uint32_t model, bytes;
    const mote_weights_part_t *parts; /* in flash */
    uint32_t count;
} mote_weights_t;

typedef struct {
    uint32_t number, version, model, bytes;
} mote_weights_head_t;

static inline mote_weights_part_t mote_weights_part(const mote_weights_t *weights, uint32_t i) {
    mote_weights_part_t part;
    mote_flash_copy(&part, weights->parts + i, sizeof part);
    return part;
}

/* Whether values of a part can be. */
static inline int mote_weights_sound(const mote_weights_part_t *part, const uint8_t *data, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += part->kind == MOTE_WEIGHTS_INT8 ? 1u : 4u) {
        int32_t value = 0;
        if (part->kind == MOTE_WEIGHTS_INT8) {
            value = (int8_t)data[i];
        } else {
            memcpy(&value, data + i, sizeof value);
        }
        if (part->kind == MOTE_WEIGHTS_FLOAT ? (~(uint32_t)value & 0x7f800000u) == 0
                                             : value < part->low || value > part->high) {
            return 0;
        }
    }
    return 1;
}

/* The same of a part in flash. */
static inline int mote_weights_sound_at(const mote_weights_part_t *part, const mote_flash_t *flash, uint32_t at) {
    uint8_t piece[MOTE_RECORDS_PIECE];
    if (part->kind == MOTE_WEIGHTS_ANY) {
        return 1;
    }
    for (uint32_t left = part->bytes; left > 0;) {
        const uint32_t some = left < sizeof piece ? left : (uint32_t)sizeof piece;
        if (mote_flash_read(flash, at, piece, some) != 0 || !mote_weights_sound(part, piece, some)) {
            return 0;
        }
        at += some;
        left -= some;
    }
    return 1;
}

/* Whether the record at `at`, which is whole, is one of this model with values that can be. */
static inline int mote_weights_fit(const mote_weights_t *weights, const mote_flash_t *flash, uint32_t at) {
    mote_weights_head_t head;
    if (mote_flash_read(flash, at, &head, sizeof head) != 0 || head.version != MOTE_WEIGHTS_VERSION ||
        head.model != weights->model || head.bytes != weights->bytes) {
        return 0;
    }
    at += (uint32_t)sizeof head;
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        if (!mote_weights_sound_at(&part, flash, at)) {
            return 0;
        }
        at += part.bytes;
    }
    return 1;
}

/* The parts of a record that fits, into the states; 0 where they cannot be read. */
static inline int mote_weights_take(const mote_weights_t *weights, const mote_flash_t *flash, uint32_t at, uint8_t *states) {
    at += (uint32_t)sizeof(mote_weights_head_t);
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        if (mote_flash_read(flash, at, states + part.at, part.bytes) != 0) {
            return 0;
        }
        at += part.bytes;
    }
    return 1;
}

/* What lies in an area. */
typedef struct {
    uint32_t own;    /* the place of the newest record of this model, or UINT32_MAX */
    uint32_t next;   /* where the next one goes: behind that, or behind the newest of any model */
    uint32_t saves;  /* the number of the newest record of this model, or 0 */
    uint32_t number; /* the highest number of any record */
} mote_weights_found_t;

static inline mote_weights_found_t mote_weights_find(const mote_weights_t *weights, const mote_records_t *records) {
    const uint32_t places = mote_records_count(records, weights->bytes);
    mote_weights_found_t found = {UINT32_MAX, places, 0, 0};
    for (uint32_t place = 0; place < places; place++) {
        const uint32_t at = mote_record_at(records, weights->bytes, place);
        uint32_t number;
        if (mote_flash_read(records->flash, at, &number, sizeof number) != 0 || number == 0 || number == UINT32_MAX ||
            !mote_record_whole(records->flash, at, weights->bytes)) {
            continue;
        }
        if (number > found.number) {
            found.number = number;
            found.next = place + 1u;
        }
        if (number > found.saves && mote_weights_fit(weights, records->flash, at)) {
            found.saves = number;
            found.own = place;
        }
    }
    if (found.own != UINT32_MAX) {
        found.next = found.own + 1u;
    }
    return found;
}

/* Writes what is learned behind the newest record, which holds until all is written; 0: the flash failed. */
static inline int mote_weights_save(const mote_weights_t *weights, const mote_records_t *records, const uint8_t *states) {
    const mote_weights_found_t found = mote_weights_find(weights, records);
    const mote_weights_head_t head = {found.number + 1u, MOTE_WEIGHTS_VERSION, weights->model, weights->bytes};
    const uint32_t zeros = 0;
    uint32_t bytes = (uint32_t)sizeof head;
    mote_record_writer_t writer;
    const uint32_t place = mote_record_begin(&writer, records, weights->bytes, found.next);
    mote_record_put(&writer, &head, sizeof head);
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        mote_record_put(&writer, states + part.at, part.bytes);
        bytes += part.bytes;
    }
    mote_record_put(&writer, &zeros, weights->bytes - 4u - bytes);
    return mote_record_end(&writer, weights->bytes, place);
}

/* The same to memory, with number 0. */
static inline void mote_weights_export(const mote_weights_t *weights, const uint8_t *states, void *record) {
    const mote_weights_head_t head = {0, MOTE_WEIGHTS_VERSION, weights->model, weights->bytes};
    uint8_t *to = (uint8_t *)record;
    memset(record, 0, (size_t)weights->bytes);
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        memcpy(to, states + part.at, (size_t)part.bytes);
        to += part.bytes;
    }
    const uint32_t crc = mote_crc(0, record, (size_t)weights->bytes - 4u, 1);
    memcpy((uint8_t *)record + weights->bytes - 4u, &crc, sizeof crc);
}

/* From memory; 0: it is not a record of this model, or values cannot be, and nothing has changed. */
static inline int mote_weights_import(const mote_weights_t *weights, const void *record, uint8_t *states) {
    const mote_flash_t memory = {(const uint8_t *)record, 1, NULL, NULL, NULL, NULL};
    return mote_record_whole(&memory, 0, weights->bytes) && mote_weights_fit(weights, &memory, 0) &&
           mote_weights_take(weights, &memory, 0, states);
}

#endif
