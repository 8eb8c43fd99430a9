/* rooms.c: calls kernels with parameters that a check admits, in memory of exactly the sizes that it was told.
 *
 *     rooms CASES MUTANTS SEED AT [CASE [MUTANT]]
 *
 * CASES is what rooms.py writes: a kernel each, with its parameters, the arrays that they point to, and the room that it
 * has. Mutant 0 is the case itself, which must be admitted; the others differ in a few numbers. What is admitted runs
 * under the sanitizers. A mutant that breaks something, or does not end, ends the program: the file AT has the numbers of
 * the case and of the mutant that it is at.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "mote_kernels.h"

#define MOST_WORDS 256
#define MOST_ROWS 512
#define MOST_BYTES (1u << 22) /* of a piece of memory: more is not tried */
#define SECONDS 5

typedef struct {
    uint32_t id, form, operands, fixed, words, image_bytes, listed;
    uint32_t in[MOTE_OPERANDS];
    int32_t taps[MOTE_OPERANDS];
    int32_t start, step, spread, rows, lo, hi, most;
    uint32_t out, scratch, sums, outside; /* of all operands but the first one */
} case_t;

typedef struct {
    case_t c;
    uint32_t words[MOST_WORDS];
    uint8_t *image;
    int32_t *list;
} mutant_t;

static volatile uint32_t *current; /* the case and the mutant */
static uint64_t state;

/* It ends with what is wrong as its last words. */
static void end(const char *what) {
    fprintf(stderr, "%s\n", what);
    _Exit(3);
}

static void too_long(int signal) {
    (void)signal;
    end("endless");
}

static uint32_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

static uint32_t below(uint32_t n) { return n == 0 ? 0 : draw() % n; }

static void fill(void *at, size_t bytes) {
    for (uint8_t *p = at; bytes > 0; bytes--) {
        *p++ = (uint8_t)draw();
    }
}

/* A block of its own; its last byte is the last one that may be touched. */
static void *block(uint32_t bytes) {
    void *const found = malloc(bytes);
    if (found == NULL) {
        abort();
    }
    fill(found, bytes);
    return found;
}

/* Another number than `x`: one that is near it, or at the edge of something, or another number of the case. */
static uint32_t other_number(const mutant_t *m, uint32_t x) {
    static const uint32_t edges[] = {0,      1,      2,       3,       4,          7,          8,          15,        16,
                                     31,     32,     33,      63,      64,         127,        128,        255,       256,
                                     0x7fff, 0x8000, 0x10000, 1 << 20, 0x00ffffff, 0x01000000, 0x40000000, 0x7fffffff};
    const uint32_t edge = edges[below(sizeof edges / sizeof *edges)];
    switch (below(12)) {
    case 0:
        return x + 1;
    case 1:
        return x - 1;
    case 2:
        return x + 1 + below(8);
    case 3:
        return x - 1 - below(8);
    case 4:
        return x * 2;
    case 5:
        return x / 2;
    case 6:
        return 0u - x;
    case 7:
        return edge;
    case 8:
        return 0u - edge;
    case 9:
        return m->words[below(m->c.words)];
    case 10:
        return below(40);
    default:
        return draw() & (0xffffffffu >> below(32));
    }
}

static int is_pointer(const mote_kernel_t *kernel, uint32_t word) {
    for (uint32_t i = 0; i < kernel->pointer_count; i++) {
        if (kernel->pointers[i] == word) {
            return 1;
        }
    }
    return 0;
}

/* Another place in the image, or NULL. */
static uint32_t other_place(const mutant_t *m, const mote_kernel_t *kernel, uint32_t x) {
    const uint32_t bytes = m->c.image_bytes;
    uint32_t at;
    switch (below(6)) {
    case 0:
        at = 0;
        break;
    case 1:
        at = bytes - below(bytes < 64 ? bytes : 64);
        break;
    case 2:
        at = m->words[kernel->pointers[below(kernel->pointer_count)]];
        break;
    case 3:
        at = x + 1 + below(16);
        break;
    case 4:
        at = x + 4 * below(64);
        break;
    default:
        at = 8 * below(bytes / 8 + 1);
    }
    return at > bytes ? bytes : at;
}

static void change_word(mutant_t *m, const mote_kernel_t *kernel) {
    const uint32_t word = below(m->c.words);
    if (is_pointer(kernel, word)) {
        m->words[word] = other_place(m, kernel, m->words[word]);
    } else {
        m->words[word] = other_number(m, m->words[word]);
    }
}

static void change_array(mutant_t *m) {
    const uint32_t bytes = m->c.image_bytes, at = below(bytes);
    uint8_t *const p = m->image;
    uint32_t word = 0;
    switch (below(5)) {
    case 0:
        p[at] = (uint8_t)other_number(m, p[at]);
        break;
    case 1:
        if (at + 2 <= bytes) {
            memcpy(&word, p + at / 2 * 2, 2);
            word = other_number(m, word);
            memcpy(p + at / 2 * 2, &word, 2);
        }
        break;
    case 2:
    case 3:
        if (at / 4 * 4 + 4 <= bytes) {
            memcpy(&word, p + at / 4 * 4, 4);
            word = other_number(m, word);
            memcpy(p + at / 4 * 4, &word, 4);
        }
        break;
    default:
        fill(p + at, below(below(4) == 0 ? bytes - at : (bytes - at) % 64));
    }
}

static uint32_t other_size(const mutant_t *m, uint32_t x) {
    switch (below(6)) {
    case 0:
        return x > 4 ? x - 4 : 0;
    case 1:
        return x / 2;
    case 2:
        return x + below(64);
    case 3:
        return other_number(m, x) % MOST_BYTES;
    default:
        return x > 0 ? x - 1 - below(x < 8 ? x : 8) : 0;
    }
}

static void change_room(mutant_t *m) {
    case_t *const c = &m->c;
    const uint32_t k = below(c->operands);
    switch (below(12)) {
    case 0:
    case 1:
        c->in[k] = other_size(m, c->in[k]);
        break;
    case 2:
    case 3:
        c->out = other_size(m, c->out);
        break;
    case 4:
        c->scratch = other_size(m, c->scratch);
        break;
    case 5:
        c->sums = other_size(m, c->sums);
        break;
    case 6:
        c->taps[k] = (int32_t)(other_number(m, (uint32_t)c->taps[k]) % 32);
        break;
    case 7:
        c->hi = (int32_t)other_number(m, (uint32_t)c->hi);
        break;
    case 8:
        c->lo = (int32_t)other_number(m, (uint32_t)c->lo);
        break;
    case 9:
        c->start += (int32_t)below(9) - 4;
        c->rows = c->rows + (int32_t)below(9) - 4;
        break;
    case 10:
        c->step = (int32_t)below(5) - 1;
        c->spread = (int32_t)below(5) - 1;
        break;
    default:
        c->outside ^= 1u << k;
        c->most = (int32_t)(1 + below(8));
    }
}

static void change(mutant_t *m, const mote_kernel_t *kernel) {
    uint32_t changes = 1 + (below(3) == 0) + (below(6) == 0) * below(4);
    for (; changes > 0; changes--) {
        const uint32_t what = below(8);
        if (what < 4 && m->c.words > 0) {
            change_word(m, kernel);
        } else if (what < 6 && m->c.image_bytes > 8) {
            change_array(m);
        } else {
            change_room(m);
        }
    }
}

/* The row that tap k of output row y is, where `n` is the number of the call. */
static int32_t row_of(const mutant_t *m, int32_t n, int32_t y, int32_t k) {
    const case_t *const c = &m->c;
    return c->listed ? m->list[n * c->taps[0] + k] : c->start + y * c->step + k * c->spread;
}

static int is_inside(const mutant_t *m, int32_t row) { return row >= 0 && row < m->c.rows; }

/* What the runtime makes sure of before it asks a kernel; 0 where it refuses. */
static int room_of(const mutant_t *m, mote_room_t *room) {
    const case_t *const c = &m->c;
    const int by_rows = c->form == MOTE_RUN_ROW || c->form == MOTE_RUN_ROWS;
    uint32_t pointers = 0;
    memset(room, 0, sizeof *room);
    room->image = m->image;
    room->end = m->image + c->image_bytes;
    room->form = (int32_t)c->form;
    room->operands = (int32_t)c->operands;
    room->fixed = c->fixed;
    room->eights = UINT32_MAX; /* malloc's memory */
    room->out = c->out;
    room->lo = c->lo;
    room->hi = c->hi;
    room->most = c->most;
    room->scratch = c->scratch;
    room->sums = c->sums;
    room->start = c->start;
    room->step = c->step;
    room->spread = c->spread;
    room->rows = c->rows;
    room->outside = (int32_t)(c->outside & ~1u);
    for (uint32_t i = 0; i < c->operands; i++) {
        room->in[i] = c->in[i];
        room->taps[i] = c->taps[i];
        pointers += by_rows ? (uint32_t)c->taps[i] : 1;
        if (by_rows && c->taps[i] < 1) {
            return 0;
        }
    }
    if (pointers > MOST_ROWS || (c->form == MOTE_RUN_RING && (c->hi < 1 || c->hi > UINT16_MAX))) {
        return 0;
    }
    if (c->form == MOTE_RUN_SUMS && (c->lo < 0 || c->lo >= c->hi || c->hi > 1 << 24)) {
        return 0;
    }
    if (by_rows) {
        if (c->lo < 0 || c->lo >= c->hi || c->hi - c->lo > MOST_ROWS || c->rows < 0 || c->most < 1 || c->hi > 1 << 24) {
            return 0;
        }
        if (c->listed && (uint32_t)c->taps[0] * (uint32_t)(c->hi - c->lo) > c->listed) {
            return 0;
        }
        room->inside = c->taps[0];
        for (int32_t y = c->lo; y < c->hi; y++) {
            int32_t inside = 0;
            for (int32_t k = 0; k < c->taps[0]; k++) {
                inside += is_inside(m, row_of(m, y - c->lo, y, k));
            }
            room->inside = mote_min(room->inside, inside);
            room->outside |= inside < c->taps[0];
        }
        room->list = c->listed ? m->list : NULL;
        room->listed = c->listed ? c->hi - c->lo : 0;
    }
    return 1;
}

/* Calls of a kernel with memory of its own for everything that it is given. */
typedef struct {
    const mutant_t *m;
    const mote_kernel_t *kernel;
    const void *p;
    void *blocks[MOST_ROWS];  /* what was given: kernels may put other rows into their array */
    const void *in[MOST_ROWS];
    uint32_t in_bytes[MOST_ROWS];
    void *outs[MOST_ROWS];
    mote_call_t call;
} trial_t;

/* Row pointers of output row y. */
static void give_rows(trial_t *t, int32_t n, int32_t y) {
    const case_t *const c = &t->m->c;
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->operands; i++) {
        for (int32_t k = 0; k < c->taps[i]; k++, at++) {
            const int none = i == 0 ? !is_inside(t->m, row_of(t->m, n, y, k)) : (int)((c->outside >> i & 1) & below(2));
            t->in[at] = t->blocks[at] = none ? NULL : block(c->in[i]);
        }
    }
}

static void take_rows(trial_t *t) {
    for (uint32_t i = 0; i < MOST_ROWS; i++) {
        free(t->blocks[i]);
        t->blocks[i] = NULL;
        t->in[i] = NULL;
    }
}

static void run_rows(trial_t *t) {
    const case_t *const c = &t->m->c;
    const int32_t count = c->hi - c->lo;
    for (int32_t turn = 0; turn < 3; turn++) {
        const int32_t n = turn == 0 ? 0 : turn == 1 ? count - 1 : (int32_t)below((uint32_t)count);
        t->call.y = c->lo + n;
        give_rows(t, n, t->call.y);
        if (c->form == MOTE_RUN_ROW) {
            t->kernel->row(t->p, &t->call);
        } else {
            t->call.count = 1 + (int32_t)below((uint32_t)mote_min(c->most, c->hi - t->call.y));
            for (int32_t i = 0; i < t->call.count; i++) {
                t->outs[i] = block(c->out);
            }
            t->kernel->rows(t->p, &t->call);
            for (int32_t i = 0; i < t->call.count; i++) {
                free(t->outs[i]);
            }
        }
        take_rows(t);
    }
}

static void run_sums(trial_t *t) {
    const case_t *const c = &t->m->c;
    const int32_t turns = mote_min(c->hi - c->lo, 5);
    for (int32_t turn = 0; turn < turns; turn++) {
        t->call.y = turn == 0 ? c->lo : turn == 1 ? c->hi - 1 : c->lo + (int32_t)below((uint32_t)(c->hi - c->lo));
        t->call.part = (turn == 0) | (turn == turns - 1) << 1;
        t->in[0] = t->blocks[0] = block(c->in[0]);
        t->kernel->run(t->p, &t->call);
        take_rows(t);
    }
}

static void run_tensors(trial_t *t) {
    const case_t *const c = &t->m->c;
    uint16_t oldest = (uint16_t)below((uint32_t)c->hi);
    void *before[MOTE_OPERANDS];
    for (uint32_t i = 0; i < c->operands; i++) {
        t->in_bytes[i] = c->in[i] * (c->form == MOTE_RUN_EACH && c->taps[i] > 1 ? (uint32_t)c->taps[i] : 1);
        t->in[i] = t->blocks[i] = block(t->in_bytes[i]);
        before[i] = block(t->in_bytes[i]);
        memcpy(before[i], t->in[i], t->in_bytes[i]);
    }
    t->call.lo = c->lo;
    t->call.hi = c->hi;
    t->call.oldest = &oldest;
    t->kernel->run(t->p, &t->call);
    for (uint32_t i = 0; i < c->operands; i++) {
        if ((c->fixed >> i & 1) && memcmp(before[i], t->in[i], t->in_bytes[i]) != 0) {
            end("written operand");
        }
        free(before[i]);
    }
    if (c->form == MOTE_RUN_RING && oldest >= c->hi) {
        end("lost ring");
    }
    take_rows(t);
}

static void run(const mutant_t *m, const mote_kernel_t *kernel, const void *p) {
    const case_t *const c = &m->c;
    trial_t *const t = calloc(1, sizeof *t);
    uint8_t *const before = block(c->image_bytes);
    memcpy(before, m->image, c->image_bytes);
    t->m = m;
    t->kernel = kernel;
    t->p = p;
    t->call.in = t->in;
    t->call.outs = t->outs;
    t->call.out = block(c->out);
    t->call.scratch = c->scratch ? block(c->scratch) : NULL;
    t->call.sums = block(c->sums);
    if (c->form == MOTE_RUN_ROW || c->form == MOTE_RUN_ROWS) {
        run_rows(t);
    } else if (c->form == MOTE_RUN_SUMS) {
        run_sums(t);
    } else {
        run_tensors(t);
    }
    if (memcmp(before, m->image, c->image_bytes) != 0) {
        end("written image");
    }
    free(t->call.out);
    free(t->call.scratch);
    free(t->call.sums);
    free(before);
    free(t);
}

/* The struct of parameters, as the runtime makes it. */
static void *parameters(const mutant_t *m, const mote_kernel_t *kernel) {
    uint8_t *const p = calloc(MOST_WORDS, sizeof(uintptr_t));
    for (uint32_t i = 0; i < m->c.words; i++) {
        const uint32_t place = kernel->offsets != NULL ? kernel->offsets[i] : 4 * i;
        if (is_pointer(kernel, i)) {
            const void *const at = m->words[i] == 0 ? NULL : m->image + m->words[i];
            memcpy(p + place, &at, sizeof at);
        } else {
            memcpy(p + place, &m->words[i], 4);
        }
    }
    return p;
}

static const mote_kernel_t *kernel_of(uint32_t id) {
    for (uint32_t i = 0; i < mote_kernels.count; i++) {
        if (mote_kernels.entries[i]->id == id) {
            return mote_kernels.entries[i];
        }
    }
    abort();
}

static int small_enough(const case_t *c) {
    uint64_t bytes = (uint64_t)c->out + c->scratch + c->sums;
    for (uint32_t i = 0; i < c->operands; i++) {
        bytes += (uint64_t)c->in[i] * (uint32_t)(c->taps[i] > 1 ? c->taps[i] : 1);
    }
    return bytes <= MOST_BYTES;
}

/* Whether the kernel admits a mutant of a case, which has then run. */
static int try(const mutant_t *given, uint32_t number, uint32_t mutant, uint64_t seed) {
    const mote_kernel_t *const kernel = kernel_of(given->c.id);
    mutant_t *const m = malloc(sizeof *m);
    mote_room_t room;
    int admitted = 0;
    const struct itimerval limit = {{0, 0}, {SECONDS, 0}};
    current[0] = number;
    current[1] = mutant;
    setitimer(ITIMER_VIRTUAL, &limit, NULL);
    state = (seed * 0x9e3779b97f4a7c15u) ^ ((uint64_t)number << 40) ^ ((uint64_t)mutant << 8) ^ 0x2545f4914f6cdd1du;
    for (int i = 0; i < 8; i++) {
        draw();
    }
    *m = *given;
    m->image = block(given->c.image_bytes);
    memcpy(m->image, given->image, given->c.image_bytes);
    if (mutant > 0) {
        change(m, kernel);
    }
    if (room_of(m, &room) && small_enough(&m->c)) {
        void *const p = parameters(m, kernel);
        admitted = kernel->fits(p, &room);
        if (admitted) {
            run(m, kernel, p);
        }
        free(p);
    }
    free(m->image);
    free(m);
    return admitted;
}

static int read_case(FILE *file, mutant_t *m) {
    if (fread(&m->c, sizeof m->c, 1, file) != 1) {
        return 0;
    }
    m->image = malloc(m->c.image_bytes);
    m->list = calloc(m->c.listed + 1, 4);
    if (m->c.words > MOST_WORDS || fread(m->words, 4, m->c.words, file) != m->c.words ||
        fread(m->list, 4, m->c.listed, file) != m->c.listed ||
        fread(m->image, 1, m->c.image_bytes, file) != m->c.image_bytes) {
        abort();
    }
    return 1;
}

int main(int argc, char **argv) {
    FILE *const file = fopen(argv[1], "rb");
    const uint32_t mutants = (uint32_t)atoi(argv[2]);
    const uint64_t seed = (uint64_t)atoi(argv[3]);
    const uint32_t first = argc > 5 ? (uint32_t)atoi(argv[5]) : 0;
    static mutant_t given;
    current = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, open(argv[4], O_RDWR), 0);
    signal(SIGVTALRM, too_long);
    for (uint32_t number = 0; read_case(file, &given); number++) {
        uint32_t admitted = 0;
        if (argc > 6 && number == first) {
            return !try(&given, number, (uint32_t)atoi(argv[6]), seed);
        }
        if (number >= first && argc <= 6) {
            const int whole = try(&given, number, 0, seed);
            for (uint32_t mutant = 1; mutant <= mutants; mutant++) {
                admitted += (uint32_t)try(&given, number, mutant, seed);
            }
            printf("%u %d %u\n", number, whole, admitted);
            fflush(stdout);
        }
        free(given.image);
        free(given.list);
    }
    return 0;
}
