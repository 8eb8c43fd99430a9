/* mote_memory_source.h: a recording in memory as a source, for emulators and tests: a WAV file or the lines of a camera.
 * `mote compile --source FILE` writes the recording as C. */
#ifndef MOTE_MEMORY_SOURCE_H
#define MOTE_MEMORY_SOURCE_H

#include "mote_source.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    const void *data;
    uint32_t count;       /* values of the recording */
    uint32_t block;       /* values of a block */
    uint32_t value_bytes; /* 2: int16; 1: uint8 */
} mote_recording_t;

typedef struct {
    mote_source_t source;
    mote_recording_t recording;
    uint32_t at;
    uint8_t running;
} mote_memory_source_t;

/* Makes a source that does not run yet. A start begins at the first sample again; after the last one, a read gives
 * MOTE_SOURCE_ENDED. */
void mote_memory_source(mote_memory_source_t *memory, const mote_recording_t *recording);

#ifdef __cplusplus
}
#endif

#endif
