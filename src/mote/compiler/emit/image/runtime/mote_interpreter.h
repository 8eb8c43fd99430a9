/* mote_interpreter.h: what the files of the runtime share: where things lie in an image and in an interpreter's memory.
 * What it reads was checked by mote_init. */
#ifndef MOTE_INTERPRETER_H
#define MOTE_INTERPRETER_H

#include <string.h>

#include "mote_image.h"
#include "mote_runtime.h"

/* The number in `mote_interpreter_t.memory` of a memory of the image. */
static inline uint32_t mote_memory_number(uint8_t memory) { return (memory & 3u) + (memory >> 2); }

static inline const mote_header_t *mote_header(const mote_interpreter_t *it) {
    return (const mote_header_t *)(const void *)it->memory[5];
}

static inline const void *mote_at(const mote_interpreter_t *it, uint32_t offset) { return it->memory[5] + offset; }

/* Where a section begins. */
static inline const void *mote_section(const mote_interpreter_t *it, uint32_t section) {
    return mote_at(it, mote_header(it)->sections[section].offset);
}

static inline const mote_location_t *mote_location(const mote_interpreter_t *it, uint32_t number) {
    return (const mote_location_t *)mote_section(it, MOTE_SECTION_PLACES) + number;
}

static inline const mote_operand_t *mote_operands(const mote_interpreter_t *it, const mote_op_t *op) {
    return (const mote_operand_t *)mote_section(it, MOTE_SECTION_OPERANDS) + op->operand;
}

static inline const int32_t *mote_list(const mote_interpreter_t *it, uint32_t list) {
    return (const int32_t *)mote_section(it, MOTE_SECTION_LISTS) + list;
}

/* The op that is next. */
static inline const mote_op_t *mote_next(const mote_interpreter_t *it) {
    const uint16_t *const schedule = (const uint16_t *)mote_section(it, MOTE_SECTION_SCHEDULE);
    return (const mote_op_t *)mote_section(it, MOTE_SECTION_OPS) + schedule[it->position - 1u];
}

/* Whether places in tables take four bytes each. */
static inline int mote_wide(const mote_header_t *header) { return (header->features & MOTE_FEATURE_WIDE) != 0; }

/* Entry `at` of the table of rows, in bytes. */
static inline uint32_t mote_row_at(const mote_interpreter_t *it, uint32_t at) {
    const void *const rows = mote_section(it, MOTE_SECTION_ROWS);
    return 4u * (mote_wide(mote_header(it)) ? ((const uint32_t *)rows)[at] : ((const uint16_t *)rows)[at]);
}

/* Where a tensor in one piece begins. */
static inline uint8_t *mote_begin(const mote_interpreter_t *it, const mote_location_t *place) {
    return it->memory[mote_memory_number(place->memory)] + place->at;
}

static inline uint16_t *mote_missing(const mote_interpreter_t *it) { return it->oldest + mote_header(it)->rings; }

static inline uint16_t *mote_counters(const mote_interpreter_t *it) { return mote_missing(it) + 1; }

/* The number of each kernel of the image among those of the firmware. */
static inline uint16_t *mote_entries(const mote_interpreter_t *it) {
    return mote_counters(it) + mote_header(it)->counters;
}

/* Whether it learns on the device. */
static inline int mote_trains(const mote_header_t *header) { return (header->features & MOTE_FEATURE_TRAINS) != 0; }

/* Bytes of a state's entry. */
static inline uint32_t mote_initial_bytes(const mote_header_t *header) {
    return mote_trains(header) ? (uint32_t)sizeof(mote_trained_t) : (uint32_t)sizeof(mote_initial_t);
}

/* The entry of a state: where it lies, its bytes, and at the end, see mote_filled, what it holds after a reset. */
static inline const uint32_t *mote_state(const mote_interpreter_t *it, uint32_t i) {
    return (const uint32_t *)mote_section(it, MOTE_SECTION_STATES) + i * (mote_initial_bytes(mote_header(it)) / 4u);
}

/* The last two words of an entry: `data` and `fill`. */
static inline const uint32_t *mote_filled(const mote_interpreter_t *it, const uint32_t *state) {
    return state + mote_initial_bytes(mote_header(it)) / 4u - 2u;
}

/* Bytes that are kept from one inference to the next. */
static inline uint32_t mote_kept_bytes(const mote_header_t *header) {
    return header->states + (uint32_t)2 * ((uint32_t)header->rings + 1u);
}

/* The checks of mote_init: of the header, which fill `needs`; and of all the rest, once the interpreter has its memory. */
mote_status mote_check_header(const void *image, size_t bytes, mote_needs_t *needs, mote_problem_t *problem);
mote_status mote_check(const mote_interpreter_t *it, mote_problem_t *problem);

/* Everything as it is before the first inference; states with one of these roles. */
void mote_forget(mote_interpreter_t *it);
void mote_forget_roles(const mote_interpreter_t *it, uint32_t roles);

/* What tells this image from others. */
uint32_t mote_identity(const mote_interpreter_t *it);

/* The struct of a step's parameters, in `room` unless it can be read in place. */
const void *mote_parameters(const mote_interpreter_t *it, const mote_op_t *op, const mote_kernel_t *kernel,
                            uintptr_t *room);

/* One step of the schedule, with a row that is handed over; the position after it, 0 where an accelerator has failed. */
uint32_t mote_execute(const mote_interpreter_t *it, const void *handed);

#endif
