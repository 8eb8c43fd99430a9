/* nor.c: flash in memory, with power that fails. */
#include "nor.h"

#include <sanitizer/asan_interface.h>
#include <string.h>

uint8_t nor[NOR_BYTES] __attribute__((aligned(8)));
uint32_t nor_unit, nor_operations, nor_cut = UINT32_MAX, nor_prefix, nor_seed = 1;
int nor_tear, nor_dead, nor_lasts, nor_failed, nor_corrects, nor_last_is_write;
static uint8_t unreadable[NOR_BYTES];
uint32_t nor_erases[NOR_SECTORS], nor_all_erases, nor_all_writes, nor_written_bytes, nor_last_bytes;

uint32_t nor_random(void) {
    nor_seed ^= nor_seed << 13;
    nor_seed ^= nor_seed >> 17;
    nor_seed ^= nor_seed << 5;
    return nor_seed;
}

void nor_power_on(void) {
    nor_dead = nor_failed = 0;
    nor_cut = UINT32_MAX;
    nor_operations = 0;
}

/* The byte that was `from` and was to become `to`, with any of the bits changed that differ. */
static uint8_t between(uint8_t from, uint8_t to) {
    return (uint8_t)(from ^ ((from ^ to) & nor_random()));
}

/* What is left of a byte whose operation was cut off. */
static uint8_t torn(uint8_t from, uint8_t to, uint32_t at, uint32_t reach) {
    switch (nor_tear) {
    case TEAR_NOTHING: return from;
    case TEAR_ALL: return to;
    case TEAR_BITS: return between(from, to);
    case TEAR_PREFIX: return at < nor_prefix ? to : from;
    case TEAR_ZEROS: return at < nor_prefix && !nor_last_is_write ? 0 : from;
    default: return at < nor_prefix ? to : at < nor_prefix + reach ? between(from, to) : from;
    }
}

/* Whether power lasts for this operation. */
static int lasts(int is_write, uint32_t bytes) {
    if (nor_dead) return 0;
    if (nor_operations++ != nor_cut) return 1;
    nor_dead = !nor_lasts;
    nor_failed = 1;
    nor_last_is_write = is_write;
    nor_last_bytes = bytes;
    return 0;
}

/* What was torn cannot be read until it is erased, where there is error correction. */
static void make_readable(uint32_t at, uint32_t bytes, int readable) {
    if (!nor_corrects && !readable) return;
    memset(unreadable + at, !readable, bytes);
    if (readable) {
        ASAN_UNPOISON_MEMORY_REGION(nor + at, bytes);
    } else {
        ASAN_POISON_MEMORY_REGION(nor + at, bytes);
    }
}

int nor_read(void *context, uint32_t at, uint8_t *data, uint32_t bytes) {
    (void)context;
    CHECK(at <= NOR_BYTES && bytes <= NOR_BYTES - at);
    for (uint32_t i = 0; i < bytes; i++) {
        if (unreadable[at + i]) return -1;
    }
    memcpy(data, nor + at, bytes);
    return 0;
}

void nor_restore(const uint8_t *data) {
    make_readable(0, NOR_BYTES, 1);
    memcpy(nor, data, NOR_BYTES);
}

int nor_erase(void *context, uint32_t at, uint32_t bytes) {
    (void)context;
    CHECK(at <= NOR_BYTES && bytes <= NOR_BYTES - at);
    if (nor_dead) return -1;
    make_readable(at, bytes, 1);
    const int whole = lasts(0, bytes);
    for (uint32_t i = 0; i < bytes; i++) nor[at + i] = whole ? 0xff : torn(nor[at + i], 0xff, i, bytes);
    if (!whole && nor_tear > TEAR_ALL) make_readable(at, bytes, 0);
    nor_erases[at / (NOR_BYTES / NOR_SECTORS)]++;
    nor_all_erases++;
    return whole ? 0 : -1;
}

int nor_write(void *context, uint32_t at, const uint8_t *data, uint32_t bytes) {
    (void)context;
    CHECK(at <= NOR_BYTES && bytes <= NOR_BYTES - at && at % nor_unit == 0 && bytes % nor_unit == 0);
    if (nor_dead) return -1;
    const int whole = lasts(1, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        CHECK(!unreadable[at + i] && nor[at + i] == 0xff); /* no unit is written twice */
        nor[at + i] = whole ? data[i] : torn(0xff, data[i], i, nor_unit);
    }
    if (!whole && nor_tear > TEAR_ALL) make_readable(at, bytes, 0);
    nor_all_writes++;
    nor_written_bytes += bytes;
    return whole ? 0 : -1;
}
