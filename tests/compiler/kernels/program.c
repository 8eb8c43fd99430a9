/* What a program of c_harness.py stands on, in place of a model: blocks of memory, and its input as that of a model.
 * On the host a block is malloc's, so that the sanitizer sees every step outside it. An emulated core has a byte behind
 * each block that must stay as it is, and stops where there is no room for another. */
#include "harness.h"

void *block(size_t n);
void *read_block(size_t n);
int program(void);
extern uint8_t given[];
extern const uint32_t given_bytes;

#if defined(__arm__) || defined(__riscv)
#define GUARD 0x5a
#define GUARDS (1 << 14)
#define POOL (1 << 18)
static uint32_t pool[POOL], *unused = pool;
static uint8_t *guards[GUARDS];
static uint32_t guarded;

void *block(size_t n) {
    uint32_t *p = unused;
    uint8_t *guard = (uint8_t *)p + n;
    if (n / 4 + 1 > (size_t)(pool + POOL - unused) || guarded == GUARDS) {
        __builtin_trap();
    }
    unused += n / 4 + 1;
    *guard = GUARD;
    guards[guarded++] = guard;
    return p;
}

static int damaged(void) {
    int found = 0;
    for (uint32_t i = 0; i < guarded; i++) {
        found += *guards[i] != GUARD;
    }
    return found;
}
#else
#include <stdlib.h>

void *block(size_t n) {
    void *p = malloc(n);
    if (p == NULL) {
        abort();
    }
    return p;
}

static int damaged(void) {
    return 0;
}
#endif

/* The next n bytes of what the program is given. */
void *read_block(size_t n) {
    static const uint8_t *next = given;
    uint8_t *p = block(n);
    for (size_t i = 0; i < n; i++) {
        p[i] = *next++;
    }
    return p;
}

const uint32_t harness_input_count = 1, harness_output_count = 0;
void *harness_input(uint32_t i) { (void)i; return given; }
size_t harness_input_bytes(uint32_t i) { (void)i; return given_bytes; }
const void *harness_output(uint32_t i) { (void)i; return NULL; }
size_t harness_output_bytes(uint32_t i) { (void)i; return 0; }
int harness_init(void) { return 0; }
int harness_check(void) { return 0; }
int harness_run(void) { return program() + damaged(); }
