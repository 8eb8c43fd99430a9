/* mote_runtime.c: what mote_runtime.h declares. */
#include "mote_interpreter.h"
#include "mote_state.h"

void mote_forget_roles(const mote_interpreter_t *it, uint32_t roles) {
    const mote_header_t *const header = mote_header(it);
    for (uint32_t i = 0; i < header->sections[MOTE_SECTION_STATES].count; i++) {
        const uint32_t *const state = mote_state(it, i), *const filled = mote_filled(it, state);
        const uint32_t role = mote_trains(header) ? ((const mote_trained_t *)(const void *)state)->role : MOTE_ROLE_NONE;
        uint8_t *const to = it->memory[4] + state[0];
        if ((roles >> role & 1) == 0) {
            continue;
        }
        if (filled[0] != 0) {
            memcpy(to, mote_at(it, filled[0]), (size_t)state[1]);
        } else {
            memset(to, (int)(filled[1] & 0xffu), (size_t)state[1]);
        }
    }
}

void mote_forget(mote_interpreter_t *it) {
    const mote_header_t *const header = mote_header(it);
    mote_forget_roles(it, UINT32_MAX);
    memset(it->oldest, 0, 2 * ((size_t)1 + header->rings + header->counters));
    *mote_missing(it) = header->warm_up;
    it->position = 1;
}

/* Whether memory is there, aligned and large enough. */
static int mote_enough(const void *memory, size_t bytes, uint32_t need) {
    return need == 0 || (memory != NULL && (uintptr_t)memory % 8u == 0 && bytes >= need);
}

/* Take the memory that the caller gives. */
static int mote_take(mote_interpreter_t *it, const mote_needs_t *needs, const mote_memory_t *memory) {
    size_t bytes = memory->state_bytes;
    uint8_t *state = (uint8_t *)memory->state;
    for (uint32_t i = 0; i < 4; i++) {
        it->memory[i] = (uint8_t *)memory->arena[i];
        if (!mote_enough(memory->arena[i], memory->arena_bytes[i], needs->arena[i])) {
            return 0;
        }
    }
    if (state == NULL) { /* the end of the first arena */
        const uint32_t before = (needs->arena[0] + 7u) & ~(uint32_t)7;
        if (!mote_enough(memory->arena[0], memory->arena_bytes[0], before)) {
            return 0;
        }
        bytes = (memory->arena_bytes[0] - (size_t)before) & ~(size_t)7;
        const size_t rest = bytes < needs->state ? 0 : bytes - (size_t)needs->state;
        state = it->memory[0] == NULL ? NULL : it->memory[0] + before + rest;
    }
    it->memory[4] = state;
    return mote_enough(state, bytes, needs->state);
}

mote_status mote_needs(const void *image, size_t bytes, mote_needs_t *needs) {
    mote_problem_t problem;
    return mote_check_header(image, bytes, needs, &problem);
}

mote_status mote_init(mote_interpreter_t *it, const mote_kernels_t *kernels, const void *image, size_t bytes,
                      const mote_memory_t *memory, mote_problem_t *problem) {
    mote_problem_t unseen;
    mote_needs_t needs;
    problem = problem == NULL ? &unseen : problem;
    it->position = 0;
    mote_status status = mote_check_header(image, bytes, &needs, problem);
    if (status != MOTE_OK) {
        return status;
    }
    if (!mote_take(it, &needs, memory)) {
        problem->what = "memory is missing, small or not aligned";
        return MOTE_BAD_ARENA;
    }
    it->memory[5] = (uint8_t *)image; /* nothing writes there */
    it->kernels = kernels;
    it->oldest = (uint16_t *)(void *)(it->memory[4] + mote_header(it)->states);
    memset(it->oldest, 0, (size_t)(needs.state - mote_header(it)->states));
    status = mote_check(it, problem);
    if (status == MOTE_OK) {
        mote_forget(it);
    }
    return status;
}

mote_status mote_image_crc(const void *image, size_t bytes) {
    mote_needs_t needs;
    const mote_status status = mote_needs(image, bytes, &needs);
    if (status != MOTE_OK) {
        return status;
    }
    const mote_header_t *const header = (const mote_header_t *)image;
    return mote_crc(0, (const uint8_t *)image + 16, (size_t)header->bytes - 16u, 1) == header->crc ? MOTE_OK : MOTE_DAMAGED;
}

size_t mote_input_count(const mote_interpreter_t *it) { return it->position == 0 ? 0 : mote_header(it)->inputs; }

size_t mote_output_count(const mote_interpreter_t *it) { return it->position == 0 ? 0 : mote_header(it)->outputs; }

enum { INPUTS, OUTPUTS };

static size_t mote_count(const mote_interpreter_t *it, int side) {
    return side == INPUTS ? mote_input_count(it) : mote_output_count(it);
}

/* An input or output, or NULL where there is none of this number. */
MOTE_NOINLINE const mote_port_t *mote_port(const mote_interpreter_t *it, int side, size_t index) {
    if (index >= mote_count(it, side)) {
        return NULL;
    }
    const mote_port_t *const ports = (const mote_port_t *)mote_section(it, MOTE_SECTION_PORTS);
    return ports + (side == INPUTS ? 0 : mote_header(it)->inputs) + index;
}

MOTE_NOINLINE int32_t mote_index(const mote_interpreter_t *it, int side, const char *name) {
    for (size_t i = 0; i < mote_count(it, side); i++) {
        if (strcmp((const char *)mote_at(it, mote_port(it, side, i)->name), name) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

int32_t mote_input_index(const mote_interpreter_t *it, const char *name) { return mote_index(it, INPUTS, name); }

int32_t mote_output_index(const mote_interpreter_t *it, const char *name) { return mote_index(it, OUTPUTS, name); }

MOTE_NOINLINE mote_status mote_info(const mote_interpreter_t *it, const mote_port_t *port, mote_tensor_t *info) {
    if (port == NULL) {
        return it->position == 0 ? MOTE_NOT_READY : MOTE_UNSUPPORTED;
    }
    info->name = (const char *)mote_at(it, port->name);
    info->labels = port->labels == 0 ? NULL : (const char *)mote_at(it, port->labels);
    info->shape = (const uint32_t *)mote_at(it, port->shape);
    info->bytes = port->bytes;
    info->row_bytes = port->row_bytes;
    info->scale = port->scale;
    info->zero_point = port->zero_point;
    info->dtype = port->dtype;
    info->rank = port->rank;
    return MOTE_OK;
}

mote_status mote_input_info(const mote_interpreter_t *it, size_t index, mote_tensor_t *info) {
    return mote_info(it, mote_port(it, INPUTS, index), info);
}

mote_status mote_output_info(const mote_interpreter_t *it, size_t index, mote_tensor_t *info) {
    return mote_info(it, mote_port(it, OUTPUTS, index), info);
}

MOTE_NOINLINE uint8_t *mote_data(const mote_interpreter_t *it, const mote_port_t *port) {
    if (port == NULL || port->memory == MOTE_MEMORY_NONE) {
        return NULL;
    }
    return it->memory[mote_memory_number(port->memory)] + port->offset;
}

void *mote_input(const mote_interpreter_t *it, size_t index) { return mote_data(it, mote_port(it, INPUTS, index)); }

const void *mote_output(const mote_interpreter_t *it, size_t index) {
    return mote_data(it, mote_port(it, OUTPUTS, index));
}

static int mote_pushed(const mote_interpreter_t *it) {
    return (mote_header(it)->features & MOTE_FEATURE_PUSHED) != 0;
}

/* What comes next: the arrival of a row, or something that can be done now. */
static mote_status mote_expects(const mote_interpreter_t *it) {
    return mote_next(it)->form == MOTE_RUN_ARRIVAL ? MOTE_WAITING : MOTE_BUSY;
}

/* One step; what comes after it. */
static mote_status mote_advance(mote_interpreter_t *it, const void *row) {
    const uint32_t steps = mote_header(it)->sections[MOTE_SECTION_SCHEDULE].count;
    if (steps > 0) {
        it->position = mote_execute(it, row);
        if (it->position == 0) {
            mote_forget(it);
            return MOTE_FAILED;
        }
        if (it->position <= steps) {
            return mote_expects(it);
        }
    }
    uint16_t *const missing = mote_missing(it);
    it->position = 1;
    *missing = (uint16_t)(*missing - (*missing > 0));
    return *missing > 0 ? MOTE_WAITING : MOTE_OK;
}

mote_status mote_step(mote_interpreter_t *it) {
    if (it->position == 0) {
        return MOTE_NOT_READY;
    }
    return mote_pushed(it) && mote_expects(it) == MOTE_WAITING ? MOTE_WAITING : mote_advance(it, NULL);
}

mote_status mote_invoke(mote_interpreter_t *it) {
    mote_status status;
    do {
        status = mote_step(it);
    } while (status == MOTE_BUSY);
    return status;
}

/* Whether rows can be pushed. */
static mote_status mote_takes_rows(const mote_interpreter_t *it) {
    return it->position == 0 ? MOTE_NOT_READY : mote_pushed(it) ? MOTE_OK : MOTE_UNSUPPORTED;
}

mote_status mote_push_row(mote_interpreter_t *it, const void *row) {
    const mote_status status = mote_takes_rows(it);
    if (status != MOTE_OK) {
        return status;
    }
    return mote_expects(it) == MOTE_WAITING ? mote_advance(it, row) : MOTE_BUSY;
}

mote_status mote_push(mote_interpreter_t *it, const void *rows, size_t count) {
    mote_status status = mote_takes_rows(it);
    if (status != MOTE_OK) {
        return status;
    }
    const uint8_t *row = (const uint8_t *)rows;
    const uint32_t bytes = mote_port(it, INPUTS, 0)->row_bytes;
    for (status = mote_expects(it);; count--, row += bytes) {
        while (status == MOTE_BUSY) {
            status = mote_advance(it, NULL);
        }
        if (count == 0 || status == MOTE_FAILED) {
            return status;
        }
        status = mote_advance(it, row);
    }
}

mote_status mote_reset(mote_interpreter_t *it) {
    if (it->position == 0) {
        return MOTE_NOT_READY;
    }
    mote_forget(it);
    return MOTE_OK;
}

size_t mote_state_bytes(const mote_interpreter_t *it) {
    return it->position == 0 ? 0 : MOTE_STATE_HEAD + (size_t)mote_kept_bytes(mote_header(it));
}

uint32_t mote_identity(const mote_interpreter_t *it) { return mote_crc(0, mote_header(it), MOTE_IMAGE_HEADER, 1); }

/* Whether a state can be saved to, or restored from, memory of the caller. */
static mote_status mote_may_keep(const mote_interpreter_t *it, const void *state, size_t bytes) {
    if (it->position != 1) {
        return it->position == 0 ? MOTE_NOT_READY : MOTE_BUSY;
    }
    return state == NULL || bytes < mote_state_bytes(it) ? MOTE_BAD_STATE : MOTE_OK;
}

mote_status mote_save(const mote_interpreter_t *it, void *state, size_t bytes) {
    const mote_status status = mote_may_keep(it, state, bytes);
    if (status == MOTE_OK) {
        mote_state_save(state, mote_identity(it), it->memory[4], (size_t)mote_kept_bytes(mote_header(it)));
    }
    return status;
}

/* Whether a number at a place in the state block, in what was saved, is at most `most`. */
static int mote_at_most(const mote_interpreter_t *it, const uint8_t *saved, const uint16_t *number, uint32_t most) {
    uint16_t value;
    memcpy(&value, saved + ((const uint8_t *)number - it->memory[4]), sizeof value);
    return value <= most;
}

mote_status mote_restore(mote_interpreter_t *it, const void *state, size_t bytes) {
    const mote_status status = mote_may_keep(it, state, bytes);
    if (status != MOTE_OK) {
        return status;
    }
    const mote_header_t *const header = mote_header(it);
    const uint8_t *const saved = (const uint8_t *)state + MOTE_STATE_HEAD;
    if (!mote_state_fits(state, mote_identity(it), (size_t)mote_kept_bytes(header)) ||
        !mote_at_most(it, saved, mote_missing(it), header->warm_up)) {
        return MOTE_BAD_STATE;
    }
    /* Kernels index with these, and a CRC is no signature. */
    for (uint32_t i = 0; i < header->sections[MOTE_SECTION_PLACES].count; i++) {
        const mote_location_t *const place = mote_location(it, i);
        if (place->kind == MOTE_PLACE_RING && !mote_at_most(it, saved, it->oldest + place->ring, place->rows - 1u)) {
            return MOTE_BAD_STATE;
        }
    }
    memcpy(it->memory[4], saved, (size_t)mote_kept_bytes(header));
    return MOTE_OK;
}

const char *mote_status_text(mote_status status) {
    static const char *const texts[] = {
        "done",
        "not initialized",
        "memory is missing, small or not aligned",
        "self-test failed",
        "more to do",
        "more input is needed",
        "memory was overwritten",
        "not a saved state of this model",
        "damaged in flash",
        "not a valid image",
        "kernel is missing",
        "needs another runtime",
        "accelerator failed",
        "flash failed",
    };
    return (uint32_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}
