/* mote_source.h: where samples come from, behind three functions: a microphone, an accelerometer, a camera, a recording.
 *
 *     if (mote_source_start(source) != MOTE_SOURCE_OK) report(source->error);
 *     for (;;) {
 *         const void *samples;
 *         const int32_t n = mote_source_read(source, &samples);
 *         if (n < 0) break;                  // source->error says why
 *         if (n == 0) wait_for_an_interrupt();
 *         if (n > 0) push((const int16_t *)samples, (uint32_t)n);
 *         if (source->lost != seen) report_a_gap();
 *     }
 *     mote_source_stop(source);
 *
 * A block of samples is read where the hardware put it: nothing is copied, and it stays as it is until the next read or
 * stop. Sound and motion are int16 with channels interleaved, the lines of a camera uint8; `n` counts these values. Blocks
 * always have the same number of whole frames of channels, except the last one of a recording.
 *
 * A source is used by one thread, or by the main loop. Its interrupts are the adapter's matter. An adapter has a struct
 * that begins with a mote_source_t and a function that fills it in; all memory is the caller's. */
#ifndef MOTE_SOURCE_H
#define MOTE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    MOTE_SOURCE_OK = 0,
    MOTE_SOURCE_ENDED = -1,   /* a recording has no more samples */
    MOTE_SOURCE_STOPPED = -2, /* the source was not started, or was stopped */
    MOTE_SOURCE_FAILED = -3   /* the driver failed: `error` is its own code */
} mote_source_status;

typedef struct mote_source {
    mote_source_status (*start)(struct mote_source *source);
    int32_t (*read)(struct mote_source *source, const void **data);
    mote_source_status (*stop)(struct mote_source *source);
    uint32_t lost; /* blocks that were lost since the start, or at least so many: while it is 0 the stream has no gap */
    int32_t error; /* the driver's code of the last failure */
} mote_source_t;

/* Begins to sample. Of a source that runs: MOTE_SOURCE_OK, and nothing happens. */
static inline mote_source_status mote_source_start(mote_source_t *source) { return source->start(source); }

/* Gives back the block that was read before and reads the next one: the number of its values, 0 where none is there yet,
 * or a negative mote_source_status. Read again as soon as a block was used: while it is held, the driver has one place
 * less. Whether a read waits for a block, and how long, is a setting of the adapter. */
static inline int32_t mote_source_read(mote_source_t *source, const void **data) { return source->read(source, data); }

/* Ends sampling. Of a source that does not run: MOTE_SOURCE_OK. */
static inline mote_source_status mote_source_stop(mote_source_t *source) { return source->stop(source); }

#ifdef __cplusplus
}
#endif

#endif
