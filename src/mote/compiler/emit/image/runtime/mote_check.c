/* mote_check.c: reads an image for the first time, and believes nothing. Everything that mote_execute relies on is checked
 * here, in one pass, with constant stack; what a kernel makes of its parameters is asked from the kernel. */
#include "mote_interpreter.h"
#include "mote_weights.h"

typedef char mote_header_is_192_bytes[sizeof(mote_header_t) == MOTE_IMAGE_HEADER ? 1 : -1];
typedef char mote_op_is_64_bytes[sizeof(mote_op_t) == 64 && sizeof(mote_port_t) == 36 ? 1 : -1];
typedef char mote_taps_are_enough[MOTE_TAPS >= MOTE_OPERANDS ? 1 : -1];
typedef char mote_operand_is_20_bytes[sizeof(mote_operand_t) == 20 && sizeof(mote_location_t) == 16 ? 1 : -1];

/* Rows between two. */
typedef struct {
    int32_t lo, hi;
} mote_span_of_rows_t;

static mote_status mote_refuse(mote_problem_t *problem, mote_status status, const char *what) {
    problem->what = what;
    return status;
}

/* Whether `count` from `at` on are among `all`. */
static int mote_among(uint32_t at, uint32_t count, uint32_t all) { return at <= all && count <= all - at; }

/* Whether bytes lie in a memory that there is. */
static int mote_in_memory(const mote_header_t *header, uint8_t memory, uint32_t at, uint32_t bytes) {
    if (memory < 4) {
        return mote_among(at, bytes, header->arena[memory]);
    }
    return (memory == MOTE_MEMORY_STATES && mote_among(at, bytes, header->states)) ||
           (memory == MOTE_MEMORY_IMAGE && mote_among(at, bytes, header->bytes));
}

/* Whether a name is text of the image, which ends with a zero. */
static int mote_is_text(const mote_header_t *header, uint32_t name) {
    const mote_section_t *const text = header->sections + MOTE_SECTION_TEXT;
    return name - text->offset < text->count;
}

mote_status mote_check_header(const void *image, size_t bytes, mote_needs_t *needs, mote_problem_t *problem) {
    static const uint8_t sizes[MOTE_SECTIONS] = {8, sizeof(mote_port_t), 64, sizeof(mote_operand_t), 16, 2, 2, 4, 16, 1, 1, 1};
    const mote_header_t *const header = (const mote_header_t *)image;
    problem->name = "";
    problem->op = UINT32_MAX;
    if (image == NULL || (uintptr_t)image % 8u != 0 || bytes < MOTE_IMAGE_HEADER || header->magic != MOTE_IMAGE_MAGIC) {
        return mote_refuse(problem, MOTE_BAD_IMAGE, "no image");
    }
    if (header->format != MOTE_IMAGE_FORMAT || (header->features & ~(uint32_t)MOTE_FEATURES) != 0 ||
        (MOTE_WORDS_ALIGNED && (header->features & MOTE_FEATURE_ALIGNED) == 0)) {
        return mote_refuse(problem, MOTE_UNSUPPORTED, "unknown format or feature");
    }
    if (header->header_bytes != MOTE_IMAGE_HEADER || header->bytes > bytes || header->bytes > INT32_MAX) {
        return mote_refuse(problem, MOTE_BAD_IMAGE, "image is cut off");
    }
    uint32_t counts = (uint32_t)1 + header->rings + header->counters;
    for (uint32_t i = 0; i < MOTE_SECTIONS; i++) {
        const mote_section_t *const section = header->sections + i;
        const uint32_t size = i == MOTE_SECTION_ROWS && mote_wide(header) ? 4
                              : i == MOTE_SECTION_STATES                  ? mote_initial_bytes(header)
                                                                          : sizes[i];
        if (section->offset % 8u != 0 ||
            !mote_among(section->offset, mote_much_times(section->count, size), header->bytes)) {
            return mote_refuse(problem, MOTE_BAD_IMAGE, "section");
        }
    }
    const mote_section_t *const text = header->sections + MOTE_SECTION_TEXT;
    if (text->count == 0 || ((const char *)image)[text->offset + text->count - 1u] != 0) {
        return mote_refuse(problem, MOTE_BAD_IMAGE, "text");
    }
    if (header->sections[MOTE_SECTION_PORTS].count != (uint32_t)header->inputs + header->outputs) {
        return mote_refuse(problem, MOTE_BAD_IMAGE, "input or output");
    }
    counts += header->sections[MOTE_SECTION_KERNELS].count;
    needs->state = mote_much_plus(header->states, 2u * counts + 7u) & ~(uint32_t)7;
    for (uint32_t i = 0; i < 4; i++) {
        needs->arena[i] = header->arena[i];
        if (header->arena[i] > INT32_MAX) {
            return mote_refuse(problem, MOTE_BAD_IMAGE, "size of memory");
        }
    }
    if (header->states % 8u != 0 || needs->state > INT32_MAX) {
        return mote_refuse(problem, MOTE_BAD_IMAGE, "size of memory");
    }
    if (header->taps > MOTE_TAPS || header->words > MOTE_PARAMETER_WORDS) {
        return mote_refuse(problem, MOTE_UNSUPPORTED, "too large for this runtime");
    }
    return MOTE_OK;
}

/* The kernels that the image needs, found among those of the firmware. */
static mote_status mote_check_kernels(const mote_interpreter_t *it, mote_problem_t *problem) {
    const mote_header_t *const header = mote_header(it);
    const mote_needed_t *needed = (const mote_needed_t *)mote_section(it, MOTE_SECTION_KERNELS);
    uint16_t *entry = mote_entries(it);
    for (uint32_t i = header->sections[MOTE_SECTION_KERNELS].count; i > 0; i--, needed++, entry++) {
        uint32_t lo = 0, hi = it->kernels->count;
        while (lo < hi) {
            const uint32_t middle = (lo + hi) / 2u;
            if (it->kernels->entries[middle]->id < needed->id) {
                lo = middle + 1u;
            } else {
                hi = middle;
            }
        }
        if (!mote_is_text(header, needed->name)) {
            return mote_refuse(problem, MOTE_BAD_IMAGE, "name");
        }
        if (lo >= it->kernels->count || it->kernels->entries[lo]->id != needed->id) {
            problem->name = (const char *)mote_at(it, needed->name);
            return mote_refuse(problem, MOTE_NO_KERNEL, "kernel is missing");
        }
        if (it->kernels->entries[lo]->words > MOTE_PARAMETER_WORDS) {
            problem->name = (const char *)mote_at(it, needed->name);
            return mote_refuse(problem, MOTE_UNSUPPORTED, "too large for this runtime");
        }
        *entry = (uint16_t)lo;
    }
    return MOTE_OK;
}

/* Inputs and outputs. */
static int mote_check_port(const mote_interpreter_t *it, const mote_port_t *port, int input) {
    static const uint8_t sizes[] = {4, 0, 4, 1, 8, 0, 1, 2, 8, 1, 0, 0, 8, 0, 0, 4, 2}; /* of elements, by type */
    const mote_header_t *const header = mote_header(it);
    const int pushed = input && (header->features & MOTE_FEATURE_PUSHED) != 0;
    if (port->dtype >= sizeof sizes || sizes[port->dtype] == 0 || !mote_is_text(header, port->name) ||
        (port->labels != 0 && !mote_is_text(header, port->labels)) || port->shape % 4u != 0 ||
        !mote_among(port->shape, 4u * port->rank, header->bytes)) {
        return 0;
    }
    uint32_t bytes = sizes[port->dtype];
    const uint32_t *const shape = (const uint32_t *)mote_at(it, port->shape);
    for (uint32_t i = 0; i < port->rank; i++) {
        bytes = mote_much_times(bytes, shape[i]);
    }
    if (bytes != port->bytes || bytes == MOTE_MUCH || port->offset % sizes[port->dtype] != 0) {
        return 0;
    }
    if (pushed) {
        return port->memory == MOTE_MEMORY_NONE;
    }
    return mote_in_memory(header, port->memory, port->offset, bytes) && !(input && port->memory == MOTE_MEMORY_IMAGE);
}

/* A state of an image that learns: its role and its values, behind the states before it. Bit `role` of `seen`: there is
 * one already. */
static int mote_check_trained(const mote_trained_t *trained, uint32_t before, uint32_t *seen) {
    const uint32_t role = trained->role, kind = trained->kind, own = 1u << (role & 7u);
    const uint32_t numbers = 1u << MOTE_ROLE_RATE | 1u << MOTE_ROLE_COUNT | 1u << MOTE_ROLE_LOSS;
    const uint32_t alone = numbers | 1u << MOTE_ROLE_LABEL | 1u << MOTE_ROLE_TARGET;
    if (role >= MOTE_ROLES || trained->at < before || (kind == MOTE_WEIGHTS_NONE) != (role != MOTE_ROLE_LEARNED) ||
        kind > MOTE_WEIGHTS_INT32 || (alone & *seen & own) != 0) {
        return 0;
    }
    *seen |= own;
    const int words = kind == MOTE_WEIGHTS_FLOAT || kind == MOTE_WEIGHTS_INT32 || role == MOTE_ROLE_LABEL;
    const int number = (numbers & own) != 0;
    return (!words || trained->bytes % 4u == 0) && (!number || trained->bytes == 4);
}

/* The states: all of them among the bytes that are kept, with what they hold at first. */
static int mote_check_states(const mote_interpreter_t *it) {
    const mote_header_t *const header = mote_header(it);
    uint32_t before = 0, seen = 0;
    for (uint32_t i = 0; i < header->sections[MOTE_SECTION_STATES].count; i++) {
        const uint32_t *const state = mote_state(it, i), data = *mote_filled(it, state);
        if (!mote_among(state[0], state[1], header->states) || (data != 0 && !mote_among(data, state[1], header->bytes)) ||
            (mote_trains(header) && !mote_check_trained((const mote_trained_t *)(const void *)state, before, &seen))) {
            return 0;
        }
        before = state[0] + state[1];
    }
    return 1;
}

/* Where the rows of a tensor lie: all of them inside of a memory; all places in a ring buffer agree how many it has. */
static int mote_check_place(const mote_interpreter_t *it, const mote_location_t *place) {
    const mote_header_t *const header = mote_header(it);
    if (place->rows > MOTE_LARGEST || (place->row_bytes == 0 && place->rows > 1)) {
        return 0;
    }
    if (place->kind == MOTE_PLACE_TABLE) {
        uint32_t last = 0;
        if (!mote_among(place->at, place->rows, header->sections[MOTE_SECTION_ROWS].count)) {
            return 0;
        }
        for (uint32_t i = 0; i < place->rows; i++) {
            const uint32_t at = mote_row_at(it, place->at + i);
            last = at > last ? at : last;
        }
        return mote_in_memory(header, place->memory, last, place->row_bytes);
    }
    if (place->at % 4u != 0 ||
        !mote_in_memory(header, place->memory, place->at, mote_much_times(place->rows, place->row_bytes))) {
        return 0;
    }
    if (place->kind == MOTE_PLACE_RING) {
        if (place->ring >= header->rings || place->rows == 0) {
            return 0;
        }
        uint16_t *const rows = it->oldest + place->ring;
        *rows = *rows == 0 ? (uint16_t)place->rows : *rows;
        return *rows == place->rows;
    }
    return place->kind == MOTE_PLACE_STRIP;
}

/* Whether all rows begin at multiples of eight bytes. */
MOTE_NOINLINE uint32_t mote_in_eights(const mote_interpreter_t *it, const mote_location_t *place) {
    uint32_t bits = place->at | (place->rows > 1 ? place->row_bytes : 0);
    if (place->kind == MOTE_PLACE_TABLE) {
        bits = 0;
        for (uint32_t i = 0; i < place->rows; i++) {
            bits |= mote_row_at(it, place->at + i);
        }
    }
    return bits % 8u == 0;
}

/* The least and the largest of numbers. */
MOTE_NOINLINE void mote_widen(mote_span_of_rows_t *span, int32_t row) {
    span->lo = row < span->lo ? row : span->lo;
    span->hi = row > span->hi ? row : span->hi;
}

/* start + by * times, or what is further than any row can be. */
MOTE_NOINLINE int32_t mote_reach(int32_t start, int32_t by, int32_t times) {
    const int64_t found = start + (int64_t)by * times;
    return found > MOTE_LARGEST ? MOTE_LARGEST + 1 : found < -MOTE_LARGEST ? -MOTE_LARGEST - 1 : (int32_t)found;
}

/* Whether numbers are rows, or just beside some. */
static int mote_near(const mote_span_of_rows_t *span) { return span->lo >= -MOTE_LARGEST && span->hi <= MOTE_LARGEST; }

/* How often an op runs in an inference. */
static uint32_t mote_turns(const mote_op_t *op) { return op->counter == MOTE_NO_COUNTER ? 1u : op->times; }

/* Entries of `lists`, or NULL where there are not as many. */
static const int32_t *mote_listed(const mote_interpreter_t *it, uint32_t list, uint32_t count) {
    return mote_among(list, count, mote_header(it)->sections[MOTE_SECTION_LISTS].count) ? mote_list(it, list) : NULL;
}

/* The output rows, or taps, that a step computes in all of its turns: from lo to hi - 1. */
static int mote_check_rows(const mote_interpreter_t *it, const mote_op_t *op, mote_span_of_rows_t *rows) {
    const uint32_t turns = mote_turns(op);
    rows->lo = rows->hi = mote_reach(op->first, 0, 0);
    mote_widen(rows, mote_reach(op->first, op->step, (int32_t)turns - 1));
    if (op->list != MOTE_NO_LIST) {
        const int32_t *const list = mote_listed(it, op->list, turns);
        if (list == NULL) {
            return 0;
        }
        rows->lo = rows->hi = *list;
        for (uint32_t i = 1; i < turns; i++) {
            mote_widen(rows, list[i]);
        }
    }
    if (!mote_near(rows)) {
        return 0;
    }
    rows->hi++;
    if (op->group > 1) {
        rows->hi = mote_min(rows->hi + op->group - 1, op->last);
    }
    return rows->lo >= 0 && rows->lo < rows->hi;
}

/* The fewest rows of a window that are inside of the image, where its taps follow a formula. A window that is no taller
 * than the image hangs over one edge at a time: most at the first or the last row. */
static int32_t mote_fewest(const mote_operand_t *operand, uint32_t rows, const mote_span_of_rows_t *ys) {
    const int32_t tall = mote_reach(0, operand->spread, (int32_t)operand->taps - 1), last = ys->hi - ys->lo - 1;
    const int32_t step = (tall < 0 ? -tall : tall) < (int32_t)rows && last > 0 ? last : 1;
    int32_t fewest = operand->taps;
    for (int32_t y = ys->lo; y < ys->hi; y += step) {
        uint32_t row = (uint32_t)operand->start + (uint32_t)y * (uint32_t)operand->step;
        int32_t inside = 0;
        for (uint32_t k = operand->taps; k > 0; k--, row += (uint32_t)operand->spread) {
            inside += row < rows;
        }
        fewest = mote_min(fewest, inside);
    }
    return fewest;
}

/* The rows that the taps of an operand are: which there are, and whether the kernel will see some outside of the image. */
static int mote_check_taps(const mote_interpreter_t *it, const mote_op_t *op, int32_t number, const mote_span_of_rows_t *ys,
                           mote_room_t *room) {
    const mote_operand_t *const operand = mote_operands(it, op) + number;
    const mote_location_t *const place = mote_location(it, operand->place);
    const int32_t taps = operand->taps;
    mote_span_of_rows_t rows;
    int32_t fewest = taps;
    const int32_t *list = NULL;
    uint32_t turns = 0;
    if (taps == 0 || taps > MOTE_TAPS) {
        return 0;
    }
    if (operand->list != MOTE_NO_LIST) {
        turns = op->group > 1 ? (uint32_t)ys->hi : mote_turns(op);
        list = mote_listed(it, operand->list, mote_much_times(turns, operand->taps));
        if (list == NULL) {
            return 0;
        }
        int32_t n = op->group > 1 ? ys->lo : 0;
        const int32_t *next = list + n * taps;
        for (rows.lo = rows.hi = *next; n < (int32_t)turns; n++) {
            int32_t inside = 0;
            for (int32_t k = 0; k < taps; k++, next++) {
                inside += (uint32_t)*next < place->rows;
                mote_widen(&rows, *next);
            }
            fewest = mote_min(fewest, inside);
        }
    } else {
        const int32_t top = mote_reach(operand->start, operand->step, ys->lo);
        const int32_t bottom = mote_reach(operand->start, operand->step, ys->hi - 1);
        rows.lo = rows.hi = top;
        mote_widen(&rows, bottom);
        mote_widen(&rows, mote_reach(top, operand->spread, taps - 1));
        mote_widen(&rows, mote_reach(bottom, operand->spread, taps - 1));
    }
    const int outside = rows.lo < 0 || rows.hi >= (int32_t)place->rows;
    const int one = op->form == MOTE_RUN_EACH || op->form == MOTE_RUN_SUMS;
    if (!mote_near(&rows) || (one && (taps != 1 || outside))) {
        return 0;
    }
    room->in[number] = place->row_bytes;
    room->taps[number] = taps;
    if (op->form == MOTE_RUN_EACH) {
        room->taps[number] = place->kind == MOTE_PLACE_STRIP ? (int32_t)place->rows - rows.hi : 1;
    }
    room->outside |= (int32_t)((uint32_t)outside << number);
    if (number == 0) {
        room->start = operand->start;
        room->step = operand->step;
        room->spread = operand->spread;
        room->rows = (int32_t)place->rows;
        room->list = list;
        room->listed = (int32_t)turns;
        room->inside = outside && list == NULL ? mote_fewest(operand, place->rows, ys) : fewest;
    }
    return 1;
}

/* Bytes of a tensor in one piece. */
static uint32_t mote_place_bytes(const mote_location_t *place) { return place->rows * place->row_bytes; }

/* Whether working memory is none, or lies in an arena. */
static int mote_check_work(const mote_header_t *header, uint8_t memory, uint32_t at, uint32_t bytes, uint32_t *room) {
    *room = memory == MOTE_MEMORY_NONE ? 0 : bytes;
    return memory == MOTE_MEMORY_NONE || (memory < 4 && at % 4u == 0 && mote_in_memory(header, memory, at, bytes));
}

/* Whether working memory of a step lies over other bytes that it uses. */
static int mote_over(const mote_op_t *op, const mote_room_t *room, uint8_t memory, uint32_t at, uint32_t bytes) {
    return op->scratch_memory == memory && op->scratch < at + bytes && at < op->scratch + room->scratch;
}

/* The parameters of a kernel lie in the image, and what they point to begins in it. */
static int mote_check_parameters(const mote_interpreter_t *it, const mote_op_t *op, const mote_kernel_t *kernel) {
    const uint32_t bytes = mote_header(it)->bytes;
    if (op->params % 4u != 0 || !mote_among(op->params, (uint32_t)4 * kernel->words, bytes)) {
        return 0;
    }
    const uint32_t *const words = (const uint32_t *)mote_at(it, op->params);
    for (uint32_t i = 0; i < kernel->pointer_count; i++) {
        if (words[kernel->pointers[i]] > bytes) {
            return 0;
        }
    }
    return 1;
}

/* The tensors that a step reads. */
static const char *mote_check_operands(const mote_interpreter_t *it, const mote_op_t *op, const mote_span_of_rows_t *ys,
                                       mote_room_t *room) {
    const mote_header_t *const header = mote_header(it);
    const mote_operand_t *const operands = mote_operands(it, op);
    const int whole = op->form == MOTE_RUN_WHOLE || op->form >= MOTE_RUN_RING;
    uint32_t pointers = op->form == MOTE_RUN_ROWS ? (uint32_t)op->hi : 0;
    if (!mote_among(op->operand, op->operands, header->sections[MOTE_SECTION_OPERANDS].count) ||
        op->operands > MOTE_OPERANDS || pointers > MOTE_TAPS || (op->form == MOTE_RUN_ROWS && pointers == 0)) {
        return "operands";
    }
    room->operands = op->operands;
    room->most = (int32_t)pointers;
    for (int32_t i = 0; i < op->operands; i++) {
        if (operands[i].place >= header->sections[MOTE_SECTION_PLACES].count) {
            return "operand";
        }
        const mote_location_t *const place = mote_location(it, operands[i].place);
        room->fixed |= (uint32_t)(place->memory == MOTE_MEMORY_IMAGE) << i;
        room->eights |= mote_in_eights(it, place) << i;
        if (whole) {
            if (place->kind != MOTE_PLACE_STRIP) {
                return "operand in pieces";
            }
            room->in[i] = mote_place_bytes(place);
            room->at[i] = mote_begin(it, place);
            pointers++;
        } else if (mote_check_taps(it, op, i, ys, room)) {
            pointers += operands[i].taps;
        } else {
            return "rows of an operand";
        }
    }
    return pointers > MOTE_TAPS ? "operands" : NULL;
}

/* The place that a step writes. */
static const char *mote_check_out(const mote_interpreter_t *it, const mote_op_t *op, const mote_span_of_rows_t *ys,
                                  mote_room_t *room) {
    if (op->out >= mote_header(it)->sections[MOTE_SECTION_PLACES].count) {
        return "output";
    }
    const mote_location_t *const out = mote_location(it, op->out);
    const uint32_t form = op->form;
    const int by_rows = form == MOTE_RUN_ROW || form == MOTE_RUN_EACH || form == MOTE_RUN_ROWS || form == MOTE_RUN_ARRIVAL;
    const uint8_t kind = form == MOTE_RUN_RING ? MOTE_PLACE_RING : MOTE_PLACE_STRIP;
    if (out->memory == MOTE_MEMORY_IMAGE || (by_rows ? (uint32_t)ys->hi > out->rows : out->kind != kind)) {
        return "rows of the output";
    }
    const uint32_t at_once = form == MOTE_RUN_ROWS && op->hi > (int32_t)MOTE_STEP_ROWS ? (uint32_t)op->hi : MOTE_STEP_ROWS;
    if (op->group > at_once && op->group > (out->rows + MOTE_STEP_SHARE - 1u) / MOTE_STEP_SHARE) {
        return "rows in one step";
    }
    room->eights = mote_in_eights(it, out) << MOTE_OPERANDS;
    room->to = form == MOTE_RUN_WHOLE || form == MOTE_RUN_RING ? mote_begin(it, out) : NULL;
    room->out = by_rows ? out->row_bytes : mote_place_bytes(out);
    room->lo = form == MOTE_RUN_WHOLE || form == MOTE_RUN_EACH ? op->lo : form == MOTE_RUN_RING ? 0 : ys->lo;
    room->hi = form == MOTE_RUN_WHOLE || form == MOTE_RUN_EACH ? op->hi : form == MOTE_RUN_RING ? (int32_t)out->rows : ys->hi;
    return NULL;
}

/* A step that calls a kernel. */
static const char *mote_check_call(const mote_interpreter_t *it, const mote_op_t *op, mote_room_t *room) {
    const mote_header_t *const header = mote_header(it);
    if (op->kernel >= header->sections[MOTE_SECTION_KERNELS].count) {
        return "kernel";
    }
    const mote_kernel_t *const kernel = it->kernels->entries[mote_entries(it)[op->kernel]];
    const mote_location_t *const out = mote_location(it, op->out);
    if ((kernel->forms >> op->form & 1) == 0 || kernel->operands != op->operands) {
        return "call";
    }
    if (!mote_check_work(header, op->scratch_memory, op->scratch, op->scratch_bytes, &room->scratch) ||
        !mote_check_work(header, op->sums_memory, op->sums, op->sums_bytes, &room->sums)) {
        return "working memory";
    }
    /* Rows above `lo` may be nobody's, unless the kernel always computes all. */
    const uint32_t first = kernel->forms == 1u << MOTE_RUN_WHOLE || op->lo <= 0 ? 0 : (uint32_t)op->lo * out->row_bytes;
    const int in_one = op->form == MOTE_RUN_WHOLE || op->form == MOTE_RUN_SUMS;
    if (mote_over(op, room, op->sums_memory, op->sums, room->sums) ||
        (in_one && first < room->out && mote_over(op, room, out->memory, out->at + first, room->out - first))) {
        return "working memory overlaps";
    }
    if (!mote_check_parameters(it, op, kernel)) {
        return "parameters";
    }
    uintptr_t words[MOTE_PARAMETER_WORDS];
    return kernel->fits(mote_parameters(it, op, kernel, words), room) ? NULL : "parameters do not fit";
}

/* What an operator does when it is its turn. */
MOTE_NOINLINE const char *mote_check_op(const mote_interpreter_t *it, const mote_op_t *op) {
    const mote_header_t *const header = mote_header(it);
    const uint32_t form = op->form;
    mote_room_t room;
    mote_span_of_rows_t ys;
    memset(&room, 0, sizeof room);
    room.image = it->memory[5];
    room.end = room.image + header->bytes;
    room.form = (int32_t)form;
    if (form > MOTE_RUN_REPEAT || op->times == 0 || op->group == 0) {
        return "form";
    }
    if (op->counter != MOTE_NO_COUNTER) {
        if (op->counter >= header->counters || mote_counters(it)[op->counter] != 0) {
            return "counter";
        }
        mote_counters(it)[op->counter] = 1;
    }
    if (!mote_check_rows(it, op, &ys)) {
        return "rows";
    }
    const char *problem = form < MOTE_RUN_JUMP ? mote_check_out(it, op, &ys, &room) : NULL;
    problem = problem == NULL ? mote_check_operands(it, op, &ys, &room) : problem;
    if (problem != NULL) {
        return problem;
    }
    if (form < MOTE_RUN_ARRIVAL) {
        return mote_check_call(it, op, &room);
    }
    const mote_port_t *const input = (const mote_port_t *)mote_section(it, MOTE_SECTION_PORTS);
    if (form == MOTE_RUN_ARRIVAL) {
        const int pushed = (header->features & MOTE_FEATURE_PUSHED) != 0;
        return pushed && room.out == input->row_bytes ? NULL : "pushed row";
    }
    if (form == MOTE_RUN_COPY) {
        const uint32_t most = room.in[0] < room.out ? room.in[0] : room.out;
        return op->operands == 1 && mote_size(op->hi) <= most ? NULL : "copy";
    }
    const int reads = form == MOTE_RUN_BRANCH, counts = form == MOTE_RUN_REPEAT;
    if ((reads && room.in[0] == 0) || (counts && op->counter == MOTE_NO_COUNTER) ||
        (header->features & MOTE_FEATURE_CONTROL) == 0 ||
        (uint32_t)op->lo > header->sections[MOTE_SECTION_SCHEDULE].count) {
        return "jump";
    }
    return NULL;
}

mote_status mote_check(const mote_interpreter_t *it, mote_problem_t *problem) {
    const mote_header_t *const header = mote_header(it);
    const mote_section_t *const sections = header->sections;
    const mote_port_t *const ports = (const mote_port_t *)mote_section(it, MOTE_SECTION_PORTS);
    const mote_op_t *const ops = (const mote_op_t *)mote_section(it, MOTE_SECTION_OPS);
    const uint16_t *const schedule = (const uint16_t *)mote_section(it, MOTE_SECTION_SCHEDULE);
    const uint32_t steps = sections[MOTE_SECTION_SCHEDULE].count;
    const mote_status found = mote_check_kernels(it, problem);
    if (found != MOTE_OK) {
        return found;
    }
    for (uint32_t i = 0; i < sections[MOTE_SECTION_PORTS].count; i++) {
        if (!mote_check_port(it, ports + i, i < header->inputs)) {
            return mote_refuse(problem, MOTE_BAD_IMAGE, "input or output");
        }
    }
    for (uint32_t i = 0; i < sections[MOTE_SECTION_PLACES].count; i++) {
        if (!mote_check_place(it, mote_location(it, i))) {
            return mote_refuse(problem, MOTE_BAD_IMAGE, "place of a tensor");
        }
    }
    if (!mote_check_states(it)) {
        return mote_refuse(problem, MOTE_BAD_IMAGE, "state");
    }
    for (uint32_t i = 0; i < sections[MOTE_SECTION_OPS].count; i++) {
        problem->op = i;
        if (!mote_is_text(header, ops[i].name)) {
            return mote_refuse(problem, MOTE_BAD_IMAGE, "name");
        }
        problem->name = (const char *)mote_at(it, ops[i].name);
        problem->what = mote_check_op(it, ops + i);
        if (problem->what != NULL) {
            return MOTE_BAD_IMAGE;
        }
    }
    problem->name = "";
    problem->op = UINT32_MAX;
    for (uint32_t i = 0; i < steps; i++) {
        if (schedule[i] >= sections[MOTE_SECTION_OPS].count) {
            return mote_refuse(problem, MOTE_BAD_IMAGE, "schedule");
        }
    }
    if ((header->features & MOTE_FEATURE_PUSHED) != 0 &&
        (header->inputs != 1 || steps == 0 || ops[schedule[0]].form != MOTE_RUN_ARRIVAL)) {
        return mote_refuse(problem, MOTE_BAD_IMAGE, "pushed row");
    }
    problem->what = "nothing";
    return MOTE_OK;
}
