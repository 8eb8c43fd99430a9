/* mote_half_buffers.c: see mote_half_buffers.h. */
#include "mote_half_buffers.h"

#include <string.h>

#if defined(__GNUC__)
#define LOAD(counter) __atomic_load_n(&(counter), __ATOMIC_ACQUIRE)
#define STORE(counter, value) __atomic_store_n(&(counter), (uint8_t)(value), __ATOMIC_RELEASE)
#else
#define LOAD(counter) (counter)
#define STORE(counter, value) ((counter) = (uint8_t)(value))
#endif

#define MOST 250u /* of a difference of counters, so that it never looks like none */

static uint8_t difference(uint8_t ahead, uint8_t behind) { return (uint8_t)(ahead - behind); }

static uint8_t *half(const mote_half_buffers_t *halves, uint8_t count) {
    return halves->memory + ((count & 1u) != 0u ? halves->bytes : 0u);
}

void mote_half_buffers_reset(mote_half_buffers_t *halves, void *memory, uint32_t bytes, uint8_t circular) {
    memset(halves, 0, sizeof *halves);
    halves->memory = (uint8_t *)memory;
    halves->bytes = bytes;
    halves->circular = circular;
}

static void drop(mote_half_buffers_t *halves) {
    if (difference(halves->dropped, LOAD(halves->noted)) < MOST) STORE(halves->dropped, halves->dropped + 1u);
}

void mote_half_buffers_passed(mote_half_buffers_t *halves) {
    const uint8_t filled = (uint8_t)(halves->filled + 1u);
    /* Two fewer name the same half. */
    STORE(halves->filled, difference(filled, LOAD(halves->released)) > MOST ? filled - 2u : filled);
}

void *mote_half_buffers_next(mote_half_buffers_t *halves) {
    if (halves->filled == LOAD(halves->released)) {
        STORE(halves->filled, halves->filled + 1u);
    } else {
        drop(halves);
    }
    return half(halves, halves->filled);
}

uint32_t mote_half_buffers_put(mote_half_buffers_t *halves, const void *data, uint32_t bytes) {
    const uint8_t *from = (const uint8_t *)data;
    uint32_t complete = 0;
    while (bytes != 0u) {
        const uint32_t room = halves->bytes - halves->at, n = bytes < room ? bytes : room;
        if (halves->at == 0u) {
            halves->dropping = difference(halves->filled, LOAD(halves->released)) >= 2u;
            if (halves->dropping != 0u) drop(halves);
        }
        if (halves->dropping == 0u) memcpy(half(halves, halves->filled) + halves->at, from, (size_t)n);
        from += n;
        bytes -= n;
        halves->at += n;
        if (halves->at == halves->bytes) {
            halves->at = 0;
            if (halves->dropping == 0u) {
                STORE(halves->filled, halves->filled + 1u);
                complete++;
            }
        }
    }
    return complete;
}

const void *mote_half_buffers_take(mote_half_buffers_t *halves, uint32_t *lost) {
    const uint8_t dropped = LOAD(halves->dropped), filled = LOAD(halves->filled);
    uint8_t released = halves->released;
    *lost += difference(dropped, halves->noted);
    STORE(halves->noted, dropped);
    if (halves->held != 0u) {
        if (halves->circular != 0u && difference(filled, released) >= 2u) ++*lost; /* overwritten while it was read */
        released++;
        halves->held = 0;
    }
    if (halves->circular != 0u && difference(filled, released) >= 2u) {
        *lost += difference(filled, released) - 1u;
        released = (uint8_t)(filled - 1u);
    }
    STORE(halves->released, released);
    if (filled == released) return NULL;
    halves->held = 1;
    return half(halves, released);
}
