/* mote_half_buffers.h: two halves of a buffer between an interrupt and the main loop. The interrupt, or the DMA behind it,
 * fills one half while the main loop reads the other. No locks, and interrupts stay enabled.
 *
 * There is one writer and one reader. Each of the shared counters has 8 bits and is written by one side only, so that a
 * single load or store is atomic on every core; stores release and loads acquire, so that the reader, even on another
 * core, sees a half before it sees that the half is filled. Compilers without the builtins of gcc get volatile accesses,
 * which is enough on one core. On cores with a data cache the memory lies in a region that is not cached, or the driver
 * invalidates it.
 *
 * The writer uses one of three functions, whichever fits the hardware:
 *
 *   mote_half_buffers_passed  circular DMA over the whole buffer, which goes on whatever happens. An interrupt at the half
 *                             and one at the end. A reader that is too slow has its half overwritten.
 *   mote_half_buffers_next    one transfer after another, each of a half. A half that has no place is dropped.
 *   mote_half_buffers_put     samples are copied in, any number at a time. Halves that have no place are dropped.
 *
 * The reader always learns how many halves were lost. */
#ifndef MOTE_HALF_BUFFERS_H
#define MOTE_HALF_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Its fields are the functions' own. */
typedef struct {
    uint8_t *memory;           /* the caller's: two halves, one behind the other */
    uint32_t bytes;            /* of a half */
    uint32_t at;               /* writer: bytes in the half that is being put */
    uint8_t dropping;          /* writer: this half has no place */
    uint8_t circular;          /* the writer never waits for the reader */
    volatile uint8_t filled;   /* written by the writer: halves that were filled, modulo 256 */
    volatile uint8_t dropped;  /* written by the writer: halves that had no place, modulo 256 */
    volatile uint8_t released; /* written by the reader: halves that may be filled again, modulo 256 */
    volatile uint8_t noted;    /* written by the reader: those of `dropped` that it knows of */
    uint8_t held;              /* reader: half `released` is being read */
} mote_half_buffers_t;

/* Before the writer begins: `memory` has 2 * `bytes`. `circular`: the writer calls mote_half_buffers_passed. */
void mote_half_buffers_reset(mote_half_buffers_t *halves, void *memory, uint32_t bytes, uint8_t circular);

/* Writer: the DMA has filled a half, and is filling the other one already. */
void mote_half_buffers_passed(mote_half_buffers_t *halves);

/* Writer: the half of the transfer that has ended was filled; gives the half for the next transfer. The first transfer
 * goes to the beginning of the memory. Where the reader has not given back the other half, the transfer that has ended is
 * dropped, and its half given again. */
void *mote_half_buffers_next(mote_half_buffers_t *halves);

/* Writer: copies samples in; gives how many halves were filled. */
uint32_t mote_half_buffers_put(mote_half_buffers_t *halves, const void *data, uint32_t bytes);

/* Reader: gives back the half that was read before, and gives the next one, or NULL where none is filled yet. Adds halves
 * that were lost to `*lost`: those that were dropped, that were overwritten before they were read, or while they were.
 * The count is exact but for more than 250 in a row. */
const void *mote_half_buffers_take(mote_half_buffers_t *halves, uint32_t *lost);

#ifdef __cplusplus
}
#endif

#endif
