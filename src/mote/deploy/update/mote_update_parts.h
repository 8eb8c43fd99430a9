/* mote_update_parts.h: what the files of the update module share; not for firmware. */
#ifndef MOTE_UPDATE_PARTS_H
#define MOTE_UPDATE_PARTS_H

#include "mote_frame.h"
#include "mote_update.h"

#define MOTE_UPDATE_COPIES 0x80000000u /* in `left`: a delta's instruction that copies */

enum { MOTE_PHASE_HEADER, MOTE_PHASE_LENGTH, MOTE_PHASE_OFFSET, MOTE_PHASE_RUN };

/* The slot that is filled. */
static inline uint32_t mote_update_target(const mote_update_t *update) { return update->record.active == 0; }

/* Whether all bits are 1 from `at` on. */
int mote_flash_blank(const mote_flash_t *flash, uint32_t at, uint32_t bytes);

/* Finds the newest record and where the next one goes; 0: there is none. */
int mote_journal_load(mote_update_t *update);

/* Writes a record, which holds from then on. The buffer must be empty. */
mote_update_status mote_journal_append(mote_update_t *update, const mote_update_record_t *next);

/* Writes the buffer to the slot, and a record where it is time for one. */
mote_update_status mote_update_flush(mote_update_t *update);

/* Counts bytes of the stream as received. */
void mote_update_took(mote_update_t *update, const uint8_t *data, uint32_t bytes);

/* The next bytes of a delta; without any, what can be done without them. */
mote_update_status mote_delta_write(mote_update_t *update, const uint8_t *data, uint32_t bytes);

#endif
