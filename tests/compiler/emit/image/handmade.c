/* handmade.c: kernels for images that are made by hand, each for other forms, and with the checks that they deserve. */
#include "mote_runtime.h"

#include "mote_ring.h"

/* What rooms kernels were asked about. */
extern int32_t seen[16][14], seen_count;
int32_t seen[16][14], seen_count;

static void see(const mote_room_t *room) {
    const int32_t fields[14] = {room->form, room->taps[0], (int32_t)room->in[0], (int32_t)room->out, room->lo,
                                room->hi,   room->most,    room->outside,        room->inside,       (int32_t)room->fixed,
                                room->rows, room->listed,  room->eights & 1,      room->eights >> MOTE_OPERANDS & 1};
    memcpy(seen[seen_count], fields, sizeof fields);
    seen_count = (seen_count + 1) % 16;
}

typedef struct {
    const int8_t *table;
    int32_t size, add;
} plus_t;

/* Each element plus a constant and an element of a table. */
static void plus_run(const void *params, const mote_call_t *call) {
    const plus_t *const p = params;
    const uint8_t *const in = call->in[0];
    uint8_t *const out = call->out;
    for (int32_t i = 0; i < call->hi; i++) {
        out[i] = (uint8_t)(in[i] + p->table[i % p->size] + p->add);
    }
}

static int plus_fits(const void *params, const mote_room_t *room) {
    see(room);
    const plus_t *const p = params;
    return p->size > 0 && mote_holds(room, p->table, mote_size(p->size), 1) && mote_size(room->hi) <= room->in[0] &&
           mote_size(room->hi) <= room->out;
}

typedef struct {
    int32_t width, taps;
} window_t;

/* The rows of a window, each times its number, and the number of the row; all of it by way of working memory. */
static void window_one(const window_t *p, const void *const *rows, int32_t y, uint8_t *out, uint8_t *scratch) {
    memset(scratch, y, (size_t)p->width);
    for (int32_t k = 0; k < p->taps; k++) {
        for (int32_t i = 0; i < p->width && rows[k] != NULL; i++) {
            scratch[i] = (uint8_t)(scratch[i] + (k + 1) * ((const uint8_t *)rows[k])[i]);
        }
    }
    memmove(out, scratch, (size_t)p->width);
}

static void window_row(const void *params, const mote_call_t *call) {
    window_one(params, call->in, call->y, call->out, call->scratch);
}

static void window_rows(const void *params, const mote_call_t *call) {
    for (int32_t i = 0; i < call->count; i++) {
        window_one(params, call->in + i, 0, call->outs[i], call->scratch);
    }
}

static int window_fits(const void *params, const mote_room_t *room) {
    see(room);
    const window_t *const p = params;
    const int32_t more = room->form == MOTE_RUN_ROWS ? room->most - 1 : 0;
    return p->taps > 0 && p->taps <= room->taps[0] - more && mote_size(p->width) <= room->in[0] &&
           mote_size(p->width) <= room->out && mote_size(p->width) <= room->scratch;
}

/* Rows times the numbers of their taps, summed. */
static void total_run(const void *params, const mote_call_t *call) {
    const int32_t width = *(const int32_t *)params;
    int32_t *const sums = call->sums;
    for (int32_t i = 0; i < width; i++) {
        sums[i] = (call->part & 1 ? 0 : sums[i]) + (call->y + 1) * ((const uint8_t *)call->in[0])[i];
        if (call->part & 2) {
            ((uint8_t *)call->out)[i] = (uint8_t)sums[i];
        }
    }
}

static int total_fits(const void *params, const mote_room_t *room) {
    see(room);
    const uint32_t width = mote_size(*(const int32_t *)params);
    return width <= room->in[0] && width <= room->out && mote_much_times(width, 4) <= room->sums;
}

static void ring_run(const void *params, const mote_call_t *call) {
    mote_ring(params, call->in[0], call->out, call->oldest);
}

static int ring_fits(const void *params, const mote_room_t *room) {
    see(room);
    const mote_ring_t *const p = params;
    return p->rows == room->hi && mote_bytes_of(p->rows, p->bytes, 1) <= room->out && p->fresh >= 0 &&
           mote_bytes_of(p->fresh, p->bytes, 1) <= room->in[0] && mote_apart(room, 0, 0, room->in[0], 0, room->out);
}

#if UINTPTR_MAX == UINT32_MAX
#define OFFSETS(name, ...)
#define OFFSETS_OF(name) NULL
#else
#define OFFSETS(name, ...) static const uint16_t name##_offsets[] = {__VA_ARGS__};
#define OFFSETS_OF(name) name##_offsets
#endif
OFFSETS(plus, offsetof(plus_t, table), offsetof(plus_t, size), offsetof(plus_t, add))
OFFSETS(words, 0, 4, 8)

static const uint16_t first[] = {0};
static const mote_kernel_t plus = {10, plus_run, NULL, NULL, plus_fits, first, OFFSETS_OF(plus), 3, 1, 1,
                                   1 << MOTE_RUN_WHOLE | 1 << MOTE_RUN_EACH};
static const mote_kernel_t window = {20, NULL, window_row, window_rows, window_fits, NULL, OFFSETS_OF(words), 2, 0, 1,
                                     1 << MOTE_RUN_ROW | 1 << MOTE_RUN_ROWS};
static const mote_kernel_t total = {30, total_run, NULL, NULL, total_fits, NULL, OFFSETS_OF(words), 1, 0, 1,
                                    1 << MOTE_RUN_SUMS};
static const mote_kernel_t ring = {40, ring_run, NULL, NULL, ring_fits, NULL, OFFSETS_OF(words), 3, 0, 1,
                                   1 << MOTE_RUN_RING};
/* With more parameters than a runtime takes. */
static const mote_kernel_t large = {50, plus_run, NULL, NULL, plus_fits, NULL, NULL, 1000, 0, 1, 1 << MOTE_RUN_WHOLE};
static const mote_kernel_t *const entries[] = {&plus, &window, &total, &ring, &large};
const mote_kernels_t mote_kernels = {entries, 5};
