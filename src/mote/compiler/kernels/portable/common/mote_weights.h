/* mote_weights.h: what a model has learned, as a record that can be kept in flash or anywhere else, and how the model
 * knows it again.
 *
 * A record is its number, the version of this form, the model, its bytes; then the parts of the states that are learned,
 * one after another and filled up with zeros to a word; where it is authenticated, the MAC of the model and of all that;
 * then the CRC-32. Values are looked at before they are taken: a CRC is no signature.
 */
#ifndef MOTE_WEIGHTS_H
#define MOTE_WEIGHTS_H

#include "mote_mac.h"
#include "mote_records.h"

#define MOTE_WEIGHTS_VERSION 0x3154574du       /* MWT1 */
#define MOTE_WEIGHTS_AUTHENTICATED 0x3141574du /* MWA1: with a MAC */

enum { MOTE_WEIGHTS_NONE, MOTE_WEIGHTS_ANY, MOTE_WEIGHTS_FLOAT, MOTE_WEIGHTS_INT8, MOTE_WEIGHTS_INT32 };

/* A part of the states: its first byte and its bytes, and what its values can be: anything, numbers of float32 that are
 * finite, or integers from `low` to `high`; or a part that is not learned. Of `kind` the lowest byte counts. */
typedef struct {
    uint32_t at, bytes;
    int32_t low, high;
    uint32_t kind;
} mote_weights_part_t;

#ifndef MOTE_WEIGHTS_APART
#define MOTE_WEIGHTS_APART sizeof(mote_weights_part_t) /* bytes from one part of a table to the next */
#endif

/* Who vouches for a record, and what the MAC covers before it: all that tells the model from others. */
typedef struct {
    const mote_mac_t *mac;
    const void *model;
    uint32_t bytes;
} mote_weights_seal_t;

/* The record of a model: what it is known by, and its bytes. */
typedef struct {
    uint32_t model, bytes;
    const mote_weights_part_t *parts; /* in flash */
    uint32_t count;
    const mote_weights_seal_t *seal; /* NULL: records have a CRC-32 and no MAC */
} mote_weights_t;

typedef struct {
    uint32_t number, version, model, bytes;
} mote_weights_head_t;

static inline mote_weights_part_t mote_weights_part(const mote_weights_t *weights, uint32_t i) {
    mote_weights_part_t part;
    mote_flash_copy(&part, (const uint8_t *)weights->parts + i * MOTE_WEIGHTS_APART, sizeof part);
    part.kind &= 0xffu;
    part.bytes = part.kind == MOTE_WEIGHTS_NONE ? 0 : part.bytes;
    return part;
}

/* Whether a table of parts is as it was compiled: one in which bits have changed could lead out of the states. */
static inline int mote_weights_intact(const mote_weights_t *weights, uint32_t crc) {
    const mote_weights_part_t *parts = weights->parts;
    MOTE_LOOK_AT(parts);
    return mote_crc_flash(0, parts, (size_t)weights->count * sizeof *parts, 4) == crc;
}

/* The first bytes of a record. */
static inline mote_weights_head_t mote_weights_head(const mote_weights_t *weights, uint32_t number) {
    const uint32_t version = weights->seal == NULL ? MOTE_WEIGHTS_VERSION : MOTE_WEIGHTS_AUTHENTICATED;
    const mote_weights_head_t head = {number, version, weights->model, weights->bytes};
    return head;
}

/* Bytes behind what is learned. */
static inline uint32_t mote_weights_end(const mote_weights_t *weights) {
    return weights->seal == NULL ? 4u : 4u + MOTE_MAC_BYTES;
}

/* Zeros behind what is learned, up to a word. */
static inline uint32_t mote_weights_fill(const mote_weights_t *weights) {
    uint32_t bytes = (uint32_t)sizeof(mote_weights_head_t) + mote_weights_end(weights);
    for (uint32_t i = 0; i < weights->count; i++) {
        bytes += mote_weights_part(weights, i).bytes;
    }
    return weights->bytes - bytes;
}

/* Whether values of a part can be. */
static inline int mote_weights_sound(const mote_weights_part_t *part, const uint8_t *data, uint32_t bytes) {
    if (part->kind == MOTE_WEIGHTS_ANY) {
        return 1;
    }
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

/* Whether all values in the states can be. */
static inline int mote_weights_hold(const mote_weights_t *weights, const uint8_t *states) {
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        if (!mote_weights_sound(&part, states + part.at, part.bytes)) {
            return 0;
        }
    }
    return 1;
}

/* The same of a part in flash. */
static inline int mote_weights_sound_at(const mote_weights_part_t *part, const mote_flash_t *flash, uint32_t at) {
    uint8_t piece[MOTE_RECORDS_PIECE];
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

/* Begins the MAC of a record. */
static inline void mote_weights_vouch(const mote_weights_seal_t *seal) {
    seal->mac->begin(seal->mac->context);
    seal->mac->put(seal->mac->context, seal->model, seal->bytes);
}

/* The MAC of a record with this head and these states; 0: it cannot be made. */
static inline int mote_weights_mac(const mote_weights_t *weights, const mote_weights_head_t *head, const uint8_t *states,
                                   uint8_t *made) {
    const mote_mac_t *const mac = weights->seal->mac;
    const uint32_t zeros = 0;
    mote_weights_vouch(weights->seal);
    mac->put(mac->context, head, (uint32_t)sizeof *head);
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        mac->put(mac->context, states + part.at, part.bytes);
    }
    mac->put(mac->context, &zeros, mote_weights_fill(weights));
    return mac->end(mac->context, made) == 0;
}

/* Whether the MAC of the record at `at` is right. */
static inline int mote_weights_genuine(const mote_weights_t *weights, const mote_flash_t *flash, uint32_t at) {
    const mote_mac_t *const mac = weights->seal->mac;
    uint8_t piece[MOTE_RECORDS_PIECE], made[MOTE_MAC_BYTES];
    int failed = 0;
    mote_weights_vouch(weights->seal);
    for (uint32_t left = weights->bytes - mote_weights_end(weights); left > 0 && !failed;) {
        const uint32_t some = left < sizeof piece ? left : (uint32_t)sizeof piece;
        failed = mote_flash_read(flash, at, piece, some) != 0;
        mac->put(mac->context, piece, some);
        at += some;
        left -= some;
    }
    failed |= mac->end(mac->context, made) != 0;
    return !failed && mote_flash_read(flash, at, piece, MOTE_MAC_BYTES) == 0 && mote_mac_equal(made, piece);
}

/* Whether the record at `at`, which is whole, is one of this model with values that can be. */
static inline int mote_weights_fit(const mote_weights_t *weights, const mote_flash_t *flash, uint32_t at) {
    const mote_weights_head_t wanted = mote_weights_head(weights, 0);
    mote_weights_head_t head;
    uint32_t next = at + (uint32_t)sizeof head;
    if (mote_flash_read(flash, at, &head, sizeof head) != 0 || head.version != wanted.version ||
        head.model != wanted.model || head.bytes != wanted.bytes) {
        return 0;
    }
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        if (!mote_weights_sound_at(&part, flash, next)) {
            return 0;
        }
        next += part.bytes;
    }
    return weights->seal == NULL || mote_weights_genuine(weights, flash, at);
}

/* The parts of a record that fits, into the states; 0 where they cannot be read, or are not what the MAC says any more. */
static inline int mote_weights_take(const mote_weights_t *weights, const mote_flash_t *flash, uint32_t at, uint8_t *states) {
    const uint32_t behind = at + weights->bytes - mote_weights_end(weights);
    uint8_t made[MOTE_MAC_BYTES], told[MOTE_MAC_BYTES];
    mote_weights_head_t head;
    if (mote_flash_read(flash, at, &head, sizeof head) != 0) {
        return 0;
    }
    at += (uint32_t)sizeof head;
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        if (mote_flash_read(flash, at, states + part.at, part.bytes) != 0) {
            return 0;
        }
        at += part.bytes;
    }
    return weights->seal == NULL || (mote_flash_read(flash, behind, told, sizeof told) == 0 &&
                                     mote_weights_mac(weights, &head, states, made) && mote_mac_equal(made, told));
}

/* The newest record of this model in an area. */
typedef struct {
    uint32_t own;   /* its place, or UINT32_MAX */
    uint32_t saves; /* its number, or 0 */
} mote_weights_found_t;

static inline mote_weights_found_t mote_weights_find(const mote_weights_t *weights, const mote_records_t *records) {
    const uint32_t places = mote_records_count(records, weights->bytes);
    mote_weights_found_t found = {UINT32_MAX, 0};
    for (uint32_t place = 0; place < places; place++) {
        const uint32_t at = mote_record_at(records, weights->bytes, place);
        uint32_t number;
        if (mote_flash_read(records->flash, at, &number, sizeof number) == 0 && number != 0 && number != UINT32_MAX &&
            (found.own == UINT32_MAX || mote_record_later(number, found.saves)) &&
            mote_record_whole(records->flash, at, weights->bytes) && mote_weights_fit(weights, records->flash, at)) {
            found.saves = number;
            found.own = place;
        }
    }
    return found;
}

#define MOTE_WEIGHTS_OTHERS 4u /* models beside the own whose newest record is looked for */

/* The newest record of another model; number 0: there is none. */
typedef struct {
    uint32_t model, number, at, bytes;
} mote_weights_other_t;

/* The head of a record of any model and length, where one that is whole begins. */
static inline int mote_weights_begin(const mote_records_t *records, uint32_t at, mote_weights_head_t *head) {
    const uint32_t left = records->area.at + records->area.bytes - at;
    return left >= sizeof *head && mote_flash_read(records->flash, at, head, sizeof *head) == 0 &&
           (head->version == MOTE_WEIGHTS_VERSION || head->version == MOTE_WEIGHTS_AUTHENTICATED) && head->number != 0 &&
           head->bytes > sizeof *head && head->bytes % 4u == 0 && head->bytes <= left &&
           mote_record_whole(records->flash, at, head->bytes);
}

/* The newest records of other models, whose lengths and places are theirs; where there are too many models, of those with
 * the highest numbers. */
static inline void mote_weights_others(const mote_weights_t *weights, const mote_records_t *records,
                                       mote_weights_other_t others[MOTE_WEIGHTS_OTHERS]) {
    const uint32_t unit = records->flash->unit, end = records->area.at + records->area.bytes;
    const uint32_t step = unit >= 4u || records->area.sector % 4u != 0 ? unit : 4u;
    memset(others, 0, MOTE_WEIGHTS_OTHERS * sizeof *others);
    for (uint32_t at = records->area.at, next; at < end; at = next) {
        mote_weights_head_t head;
        uint32_t slot = 0;
        next = at + step;
        if (!mote_weights_begin(records, at, &head)) {
            continue;
        }
        next = at + mote_record_stride(records, head.bytes);
        for (uint32_t i = 0; i < MOTE_WEIGHTS_OTHERS; i++) {
            if (others[i].number != 0 && others[i].model == head.model) {
                slot = i;
                break;
            }
            slot = others[i].number < others[slot].number ? i : slot;
        }
        const int later = others[slot].model == head.model ? mote_record_later(head.number, others[slot].number)
                                                           : head.number > others[slot].number;
        if (head.model != weights->model && (others[slot].number == 0 || later)) {
            const mote_weights_other_t other = {head.model, head.number, at, head.bytes};
            others[slot] = other;
        }
    }
}

/* The block, from `first` on, in which least is lost: not the newest record of this model, and of other models rather none
 * or the one with the lowest number. */
static inline uint32_t mote_weights_block(const mote_weights_t *weights, const mote_records_t *records, uint32_t first,
                                          uint32_t own, const mote_weights_other_t *others) {
    const uint32_t bytes = mote_record_block(records, weights->bytes), blocks = records->area.bytes / bytes;
    uint32_t best = first, least = UINT32_MAX;
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t block = (first + i) % blocks, at = records->area.at + block * bytes;
        uint32_t lost = 0;
        for (uint32_t k = 0; k < MOTE_WEIGHTS_OTHERS; k++) {
            if (others[k].number > lost && others[k].at < at + bytes && at < others[k].at + others[k].bytes) {
                lost = others[k].number;
            }
        }
        if (block != own && lost < least) {
            best = block;
            least = lost;
        }
    }
    return best;
}

/* Where the next record of a model goes: behind its newest one or, where a block has to be erased for it, to the first
 * place of that. Gives its number. That of a model's first record is higher than those of the models before, so that
 * their age can be told; later ones depend on nobody else's. */
static inline uint32_t mote_weights_next(const mote_weights_t *weights, const mote_records_t *records, uint32_t *place) {
    const mote_weights_found_t found = mote_weights_find(weights, records);
    const uint32_t each = mote_records_each(records, weights->bytes);
    const int first = found.own == UINT32_MAX;
    uint32_t number = found.saves;
    *place = first ? 0 : mote_record_behind(records, weights->bytes, found.own + 1u);
    if (*place % each == 0) {
        mote_weights_other_t others[MOTE_WEIGHTS_OTHERS];
        mote_weights_others(weights, records, others);
        *place = each * mote_weights_block(weights, records, *place / each, first ? UINT32_MAX : found.own / each, others);
        for (uint32_t i = 0; i < MOTE_WEIGHTS_OTHERS && first; i++) {
            number = others[i].number > number && others[i].number <= (uint32_t)INT32_MAX ? others[i].number : number;
        }
    }
    return number + 1u == UINT32_MAX ? 1u : number + 1u;
}

/* Writes what is learned behind the newest record, which holds until all is written; 0: the flash failed. */
static inline int mote_weights_save(const mote_weights_t *weights, const mote_records_t *records, const uint8_t *states) {
    uint32_t place;
    const mote_weights_head_t head = mote_weights_head(weights, mote_weights_next(weights, records, &place));
    const uint32_t zeros = 0;
    uint8_t mac[MOTE_MAC_BYTES] = {0};
    mote_record_writer_t writer;
    if (weights->seal != NULL && !mote_weights_mac(weights, &head, states, mac)) {
        return 0;
    }
    mote_record_begin(&writer, records, weights->bytes, place);
    mote_record_put(&writer, &head, sizeof head);
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        mote_record_put(&writer, states + part.at, part.bytes);
    }
    mote_record_put(&writer, &zeros, mote_weights_fill(weights));
    mote_record_put(&writer, mac, mote_weights_end(weights) - 4u);
    return mote_record_end(&writer, weights->bytes, place);
}

/* The same to memory, with number 0; 0: there is no MAC. */
static inline int mote_weights_export(const mote_weights_t *weights, const uint8_t *states, void *record) {
    const mote_weights_head_t head = mote_weights_head(weights, 0);
    uint8_t *to = (uint8_t *)record;
    memset(record, 0, (size_t)weights->bytes);
    memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (uint32_t i = 0; i < weights->count; i++) {
        const mote_weights_part_t part = mote_weights_part(weights, i);
        memcpy(to, states + part.at, (size_t)part.bytes);
        to += part.bytes;
    }
    to += mote_weights_fill(weights);
    if (weights->seal != NULL && !mote_weights_mac(weights, &head, states, to)) {
        return 0;
    }
    const uint32_t crc = mote_crc(0, record, (size_t)weights->bytes - 4u, 1);
    memcpy((uint8_t *)record + weights->bytes - 4u, &crc, sizeof crc);
    return 1;
}

/* From memory; 0: it is not a record of this model, or values cannot be, and nothing has changed. */
static inline int mote_weights_import(const mote_weights_t *weights, const void *record, uint8_t *states) {
    const mote_flash_t memory = {(const uint8_t *)record, 1, NULL, NULL, NULL, NULL};
    return mote_record_whole(&memory, 0, weights->bytes) && mote_weights_fit(weights, &memory, 0) &&
           mote_weights_take(weights, &memory, 0, states);
}

#endif
