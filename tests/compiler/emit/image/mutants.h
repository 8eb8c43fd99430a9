/* mutants.h: images with other numbers in them, where numbers are, and with a checksum that is right. */
#ifndef MUTANTS_H
#define MUTANTS_H

#include <string.h>

#include "mote_image.h"

static uint32_t mutant_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* A number of `bytes` bytes that means something somewhere, or is beside one that does. */
static uint32_t mutant_value(const uint8_t *image, uint32_t bytes, uint32_t old, uint64_t *random) {
    static const uint32_t interesting[] = {0,      1,       2,          3,          4,           5,          7,          8,
                                           15,     16,      17,         31,         32,          33,         63,         64,
                                           127,    128,     255,        256,        0x7fff,      0x8000,     0xffff,     0x10000,
                                           1 << 20, 1 << 24, 0x01000001, 0x3fffffff, 0x40000000, 0x7fffffff, 0x80000000, 0xffffffff};
    uint32_t other;
    switch (mutant_random(random) % 10) {
    case 0:
    case 1:
    case 2:
        return interesting[mutant_random(random) % (sizeof interesting / sizeof *interesting)];
    case 3:
        return old ^ 1u << mutant_random(random) % 32;
    case 4:
        return old + 1u + mutant_random(random) % 8;
    case 5:
        return old - 1u - mutant_random(random) % 8;
    case 6:
        return (mutant_random(random) & 1) != 0 ? old * 2u : old / 2u;
    case 7: /* another number of the image */
        memcpy(&other, image + mutant_random(random) % (bytes / 4u) * 4u, 4);
        return other;
    case 8: /* behind the image, or just inside of it */
        return bytes - mutant_random(random) % 3 * 4u;
    default:
        return mutant_random(random) << 1;
    }
}

static void mutant_change(uint8_t *image, uint32_t bytes, uint32_t at, uint32_t width, uint64_t *random) {
    uint32_t old = 0;
    if (at <= bytes && width <= bytes - at) {
        memcpy(&old, image + at, width);
        const uint32_t value = mutant_value(image, bytes, old, random);
        memcpy(image + at, &value, width);
    }
}

/* Record `number` of a section, or NULL where the image does not have it. */
static uint8_t *mutant_record(uint8_t *image, uint32_t bytes, const mote_header_t *header, uint32_t section,
                              uint32_t number, uint32_t size) {
    const mote_section_t *const where = header->sections + section;
    const uint64_t at = where->offset + (uint64_t)number * size;
    return number < where->count && at + size <= bytes ? image + at : NULL;
}

/* Lay an operand of an op, or its working memory, over its output, or a few bytes beside. */
static void mutant_overlap(uint8_t *image, uint32_t bytes, const mote_header_t *header, uint64_t *random) {
    mote_op_t op;
    mote_operand_t operand;
    mote_location_t place, out;
    const uint32_t count = header->sections[MOTE_SECTION_OPS].count;
    const uint32_t number = count == 0 ? 0 : mutant_random(random) % count;
    uint8_t *const of_op = mutant_record(image, bytes, header, MOTE_SECTION_OPS, number, sizeof op);
    if (of_op == NULL) {
        return;
    }
    memcpy(&op, of_op, sizeof op);
    const uint32_t which = op.operand + (op.operands == 0 ? 0 : mutant_random(random) % op.operands);
    const uint8_t *const of_operand = mutant_record(image, bytes, header, MOTE_SECTION_OPERANDS, which, sizeof operand);
    const uint8_t *const of_out = mutant_record(image, bytes, header, MOTE_SECTION_PLACES, op.out, sizeof out);
    if (of_operand == NULL || of_out == NULL) {
        return;
    }
    memcpy(&operand, of_operand, sizeof operand);
    memcpy(&out, of_out, sizeof out);
    uint8_t *const of_place = mutant_record(image, bytes, header, MOTE_SECTION_PLACES, operand.place, sizeof place);
    const uint32_t at = out.at + 4u * (mutant_random(random) % 17) - 32u;
    if (mutant_random(random) % 4 == 0 && out.memory < 4) {
        op.scratch = at;
        op.scratch_memory = out.memory;
        memcpy(of_op, &op, sizeof op);
    } else if (of_place != NULL) {
        memcpy(&place, of_place, sizeof place);
        place.at = at;
        place.memory = out.memory;
        memcpy(of_place, &place, sizeof place);
    }
}

/* Change a number: of the header, of a record, of parameters, or a byte. Images are little-endian, and so is this core. */
static void mutant_once(uint8_t *image, uint32_t bytes, uint64_t *random) {
    static const uint32_t sizes[MOTE_SECTIONS] = {8, 36, 64, 20, 16, 2, 2, 4, 16, 1, 4, 1};
    static const uint8_t likely[] = {
        MOTE_SECTION_OPS,    MOTE_SECTION_OPS,    MOTE_SECTION_OPS,    MOTE_SECTION_OPERANDS, MOTE_SECTION_OPERANDS,
        MOTE_SECTION_PLACES, MOTE_SECTION_PLACES, MOTE_SECTION_DATA,   MOTE_SECTION_SCHEDULE, MOTE_SECTION_ROWS,
        MOTE_SECTION_LISTS,  MOTE_SECTION_PORTS,  MOTE_SECTION_STATES, MOTE_SECTION_KERNELS};
    mote_header_t header;
    mote_op_t op;
    memcpy(&header, image, sizeof header);
    const uint32_t choice = mutant_random(random) % 20;
    if (choice == 0) {
        mutant_change(image, bytes, mutant_random(random) % (sizeof header / 4u) * 4u, 4, random);
        return;
    }
    if (choice == 1) {
        mutant_overlap(image, bytes, &header, random);
        return;
    }
    if (choice < 10) { /* a parameter */
        const mote_section_t *const ops = header.sections + MOTE_SECTION_OPS;
        const uint32_t number = ops->count == 0 ? 0 : mutant_random(random) % ops->count;
        const uint32_t at = ops->offset + number * (uint32_t)sizeof op;
        if (at <= bytes && sizeof op <= bytes - at) {
            memcpy(&op, image + at, sizeof op);
            const uint32_t most = header.words > 0 && header.words < 256 ? header.words : 16;
            mutant_change(image, bytes, op.params + mutant_random(random) % most * 4u, 4, random);
        }
        return;
    }
    const uint32_t section = likely[mutant_random(random) % sizeof likely];
    const mote_section_t *const where = header.sections + section;
    const int trains = section == MOTE_SECTION_STATES && (header.features & MOTE_FEATURE_TRAINS) != 0;
    const uint32_t end = where->count > bytes ? bytes : where->count * (trains ? 28u : sizes[section]);
    if (end > 0) {
        const uint32_t width = sizes[section] < 4 ? sizes[section] : 1u << mutant_random(random) % 3;
        mutant_change(image, bytes, where->offset + mutant_random(random) % end / width * width, width, random);
    }
}

/* Write the CRC-32 of an image that was changed into its header, as whoever forges one does. */
static void mutant_repair(uint8_t *image, uint32_t bytes) {
    static uint32_t table[256];
    mote_header_t header;
    for (uint32_t i = 0; i < 256 && table[255] == 0; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++) {
            table[i] = table[i] >> 1 ^ ((table[i] & 1) != 0 ? 0xedb88320u : 0);
        }
    }
    if (bytes < sizeof header) {
        return;
    }
    memcpy(&header, image, sizeof header);
    uint32_t crc = UINT32_MAX;
    for (uint32_t i = 16, end = header.bytes < bytes ? header.bytes : bytes; i < end; i++) {
        crc = crc >> 8 ^ table[(crc ^ image[i]) & 0xff];
    }
    header.crc = ~crc;
    memcpy(image, &header, sizeof header);
}

/* Change a few numbers. */
static void mutant(uint8_t *image, uint32_t bytes, uint64_t *random) {
    for (uint32_t i = 1 + mutant_random(random) % 3; i > 0 && bytes >= sizeof(mote_header_t); i--) {
        mutant_once(image, bytes, random);
    }
    mutant_repair(image, bytes);
}

#endif
