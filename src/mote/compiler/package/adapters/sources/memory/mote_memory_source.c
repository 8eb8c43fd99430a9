/* mote_memory_source.c: see mote_memory_source.h. */
#include "mote_memory_source.h"

#include <string.h>

static mote_source_status start(mote_source_t *source) {
    mote_memory_source_t *memory = (mote_memory_source_t *)source;
    if (memory->running == 0u) memory->at = 0;
    memory->running = 1;
    return MOTE_SOURCE_OK;
}

static int32_t read_block(mote_source_t *source, const void **data) {
    mote_memory_source_t *memory = (mote_memory_source_t *)source;
    const mote_recording_t *recording = &memory->recording;
    const uint32_t left = recording->count - memory->at, n = left < recording->block ? left : recording->block;
    if (memory->running == 0u) return MOTE_SOURCE_STOPPED;
    if (left == 0u) return MOTE_SOURCE_ENDED;
    *data = (const uint8_t *)recording->data + (size_t)memory->at * recording->value_bytes;
    memory->at += n;
    return (int32_t)n;
}

static mote_source_status stop(mote_source_t *source) {
    ((mote_memory_source_t *)source)->running = 0;
    return MOTE_SOURCE_OK;
}

void mote_memory_source(mote_memory_source_t *memory, const mote_recording_t *recording) {
    memset(memory, 0, sizeof *memory);
    memory->recording = *recording;
    memory->source.start = start;
    memory->source.read = read_block;
    memory->source.stop = stop;
}
