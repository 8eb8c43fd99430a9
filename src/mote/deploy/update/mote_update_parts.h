/* mote_update_parts.h: what the files of the update module share; not for firmware. */
#ifndef MOTE_UPDATE_PARTS_H
#define MOTE_UPDATE_PARTS_H

#include "mote_frame.h"
#include "mote_records.h"
#include "mote_update.h"

#define MOTE_UPDATE_COPIES 0x80000000u /* in `left`: a delta's instruction that copies */

enum { MOTE_PHASE_HEADER, MOTE_PHASE_LENGTH, MOTE_PHASE_OFFSET, MOTE_PHASE_RUN };

#define MOTE_SIGNATURE_MAGIC 0x4e474953u /* "SIGN" */

enum { /* in the header of an image */
    MOTE_AT_FORMAT = 4,
    MOTE_AT_BYTES = 8,
    MOTE_AT_CRC = 12,
    MOTE_AT_VERSION = 16,
    MOTE_AT_PRODUCT = 188
};

/* Whether there is an image of this length, signature included, with the right CRC-32. */
int mote_image_is_intact(const uint8_t *image, uint32_t length);

/* What the header alone says. */
mote_update_status mote_image_header(const mote_update_settings_t *settings, uint32_t least_version,
                                     const uint8_t *image, uint32_t length);

/* The slot that is filled. */
static inline uint32_t mote_update_target(const mote_update_t *update) { return update->record.active == 0; }

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
