/* mote_execute.c: one step of an image: which rows it is about, where they lie, the call of the kernel. */
#include "mote_interpreter.h"

/* Memory holds elements of several types, one after another in the same place. A compiler may take accesses of different
 * types for independent; between two steps it must not move any. */
#if defined(__GNUC__) && !defined(__FRAMAC__)
#define MOTE_NEXT() __asm__ volatile("" : : : "memory")
#else
#define MOTE_NEXT() ((void)0) /* another compiler: switch type-based alias analysis off */
#endif

const void *mote_parameters(const mote_interpreter_t *it, const mote_op_t *op, const mote_kernel_t *kernel,
                            uintptr_t *room) {
    const uint32_t *const words = (const uint32_t *)mote_at(it, op->params);
#if UINTPTR_MAX == UINT32_MAX
    if (kernel->pointer_count == 0) {
        return words;
    }
    memcpy(room, words, 4u * kernel->words);
    for (uint32_t i = 0; i < kernel->pointer_count; i++) {
        uintptr_t *const pointer = room + kernel->pointers[i];
        if (*pointer != 0) {
            *pointer += (uintptr_t)it->memory[5];
        }
    }
#else
    uint8_t *const to = (uint8_t *)room;
    for (uint32_t i = 0; i < kernel->words; i++) {
        memcpy(to + kernel->offsets[i], words + i, 4);
    }
    for (uint32_t i = 0; i < kernel->pointer_count; i++) {
        const uint32_t word = kernel->pointers[i];
        const void *const pointer = words[word] == 0 ? NULL : mote_at(it, words[word]);
        memcpy(to + kernel->offsets[word], &pointer, sizeof pointer);
    }
#endif
    return room;
}

/* Where a row lies, or NULL where there is no such row. */
static void *mote_row(const mote_interpreter_t *it, const mote_location_t *place, uint32_t row) {
    if (row >= place->rows) {
        return NULL;
    }
    if (place->kind == MOTE_PLACE_TABLE) {
        return it->memory[mote_memory_number(place->memory)] + mote_row_at(it, place->at + row);
    }
    if (place->kind == MOTE_PLACE_RING) {
        row += it->oldest[place->ring];
        row = row >= place->rows ? row - place->rows : row;
    }
    return mote_begin(it, place) + row * place->row_bytes;
}

/* Pointers to the rows that an operand's taps are, behind `found`. */
static const void **mote_taps(const mote_interpreter_t *it, const mote_operand_t *operand, uint32_t y, uint32_t n,
                              const void **found) {
    const mote_location_t *const place = mote_location(it, operand->place);
    uint32_t row = (uint32_t)operand->start + y * (uint32_t)operand->step;
    const int32_t *listed = operand->list == MOTE_NO_LIST ? NULL : mote_list(it, operand->list + n * operand->taps);
    for (uint32_t k = operand->taps; k > 0; k--) {
        *found++ = mote_row(it, place, listed == NULL ? row : (uint32_t)*listed++);
        row += (uint32_t)operand->spread;
    }
    return found;
}

#ifdef MOTE_RUNTIME_TRACE
static uint32_t mote_number(const mote_interpreter_t *it, const mote_op_t *op) {
    return (uint32_t)(op - (const mote_op_t *)mote_section(it, MOTE_SECTION_OPS));
}

/* Show what a call of a kernel has written. */
static void mote_show(const mote_interpreter_t *it, const mote_op_t *op, const mote_call_t *call) {
    const mote_location_t *const out = mote_location(it, op->out);
    const uint32_t form = op->form, number = mote_number(it, op);
    if (form == MOTE_RUN_ROW || form == MOTE_RUN_EACH) {
        MOTE_RUNTIME_TRACE(number, call->out, out->row_bytes);
    } else if (form == MOTE_RUN_ROWS) {
        for (int32_t i = 0; i < call->count; i++) {
            MOTE_RUNTIME_TRACE(number, call->outs[i], out->row_bytes);
        }
    } else if (form == MOTE_RUN_RING) {
        for (uint32_t row = 0; row < out->rows; row++) {
            MOTE_RUNTIME_TRACE(number, mote_row(it, out, row), out->row_bytes);
        }
    } else if (form == MOTE_RUN_WHOLE || (call->part & 2) != 0) {
        MOTE_RUNTIME_TRACE(number, call->out, (size_t)out->rows * out->row_bytes);
    }
}
#define MOTE_SHOW(number, data, bytes) MOTE_RUNTIME_TRACE(number, data, bytes)
#else
#define mote_show(it, op, call) ((void)0)
#define MOTE_SHOW(number, data, bytes) ((void)0)
#endif

/* What a step computes: its tensors, or its rows from y on. Returns all ones, or 0 where an accelerator has failed. */
static uint32_t mote_run(const mote_interpreter_t *it, const mote_op_t *op, uint32_t n, int32_t y) {
    const mote_kernel_t *const kernel = it->kernels->entries[mote_entries(it)[op->kernel]];
    const mote_location_t *const out = mote_location(it, op->out);
    const mote_operand_t *const operands = mote_operands(it, op);
    const uint32_t form = op->form;
    const int whole = form == MOTE_RUN_WHOLE || form == MOTE_RUN_RING;
    const int32_t most = form == MOTE_RUN_ROWS ? op->hi : 1;
    const void *rows[MOTE_TAPS];
    uintptr_t room[MOTE_PARAMETER_WORDS];
    const void *const params = mote_parameters(it, op, kernel, room);
    mote_function_t *const function =
        form == MOTE_RUN_ROW ? kernel->row : form == MOTE_RUN_ROWS ? kernel->rows : kernel->run;
    mote_call_t call;
    call.in = rows;
    call.done = UINT32_MAX;
    call.out = mote_begin(it, out);
    call.scratch = op->scratch_memory == MOTE_MEMORY_NONE ? NULL : it->memory[op->scratch_memory] + op->scratch;
    call.sums = op->sums_memory == MOTE_MEMORY_NONE ? NULL : it->memory[op->sums_memory] + op->sums;
    call.lo = op->lo;
    call.hi = op->hi;
    call.part = (n == 0) | (n + 1u == op->times) << 1;
    call.oldest = form == MOTE_RUN_RING ? it->oldest + out->ring : NULL;
    int32_t end = y + 1;
    if (op->group > 1) {
        end = y + op->group < op->last ? y + op->group : op->last;
    }
    for (; y < end; y += most) {
        const void **found = rows;
        for (uint32_t i = 0; i < op->operands; i++) {
            if (whole) {
                *found++ = mote_begin(it, mote_location(it, operands[i].place));
            } else {
                found = mote_taps(it, operands + i, (uint32_t)y, op->group > 1 ? (uint32_t)y : n, found);
            }
        }
        call.y = y;
        call.count = most < end - y ? most : end - y;
        if (form == MOTE_RUN_ROWS) {
            call.outs = (void *const *)found;
            for (int32_t i = 0; i < call.count; i++) {
                *found++ = mote_row(it, out, (uint32_t)(y + i));
            }
        } else if (form == MOTE_RUN_ROW || form == MOTE_RUN_EACH) {
            call.out = mote_row(it, out, (uint32_t)y);
        }
        function(params, &call);
        MOTE_NEXT();
        mote_show(it, op, &call);
    }
    return call.done;
}

uint32_t mote_execute(const mote_interpreter_t *it, const void *handed) {
    const mote_op_t *const op = mote_next(it);
    const uint32_t next = it->position + 1u, target = (uint32_t)op->lo + 1u;
    uint32_t n = 0;
    if (op->counter != MOTE_NO_COUNTER) {
        uint16_t *const counter = mote_counters(it) + op->counter;
        n = *counter;
        *counter = (uint16_t)(n + 1u == op->times ? 0 : n + 1u);
    }
    const int32_t y = op->list == MOTE_NO_LIST ? (int32_t)((uint32_t)op->first + n * (uint32_t)op->step)
                                               : *mote_list(it, op->list + n);
    switch (op->form) {
    case MOTE_RUN_ARRIVAL: {
        const mote_location_t *const out = mote_location(it, op->out);
        void *const to = mote_row(it, out, (uint32_t)y);
        memcpy(to, handed, (size_t)out->row_bytes);
        MOTE_SHOW(mote_number(it, op), to, out->row_bytes);
        return next;
    }
    case MOTE_RUN_COPY: {
        uint8_t *const to = mote_begin(it, mote_location(it, op->out));
        memmove(to, mote_begin(it, mote_location(it, mote_operands(it, op)->place)), (size_t)op->hi);
        MOTE_SHOW(mote_number(it, op), to, (size_t)op->hi);
        return next;
    }
    case MOTE_RUN_JUMP:
        return target;
    case MOTE_RUN_BRANCH:
        return *mote_begin(it, mote_location(it, mote_operands(it, op)->place)) == 0 ? target : next;
    case MOTE_RUN_REPEAT:
        return n + 1u == op->times ? next : target;
    default:
        return mote_run(it, op, n, y) & next;
    }
}
