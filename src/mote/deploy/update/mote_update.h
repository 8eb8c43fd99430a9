/* mote_update.h: models in two slots of flash, replaced over the air. docs/deploy/updates.md is the manual.
 *
 * The firmware describes its flash and where the slots lie, and calls mote_update_boot once after every reset: from
 * then on mote_update_image is the model to run. An update is begun, written in pieces of any size and finished,
 * which checks it as a whole; the next boot runs it on trial. The firmware confirms it once it has seen it work; a
 * reset before that brings the old one back. Power may fail at any moment: every decision is one record in a journal,
 * and until it is complete the decision before it holds.
 *
 * One context calls these functions: they are not to be interrupted by themselves. There is no memory but what the
 * caller gives. Records and images are little-endian, and so must be the core.
 */
#ifndef MOTE_UPDATE_H
#define MOTE_UPDATE_H

#include "mote_flash.h"
#include "mote_verify.h"

#define MOTE_UPDATE_NO_SLOT 0xffu
#define MOTE_UPDATE_SIGNATURE 80u /* bytes of the signature behind an image, with its head */
#define MOTE_UPDATE_LEAST_BUFFER 256u
#define MOTE_UPDATE_LEAST_IMAGE 192u /* bytes: a header */

typedef enum {
    MOTE_UPDATE_OK = 0,
    MOTE_UPDATE_SETTINGS = 1,   /* the settings contradict themselves, or are none */
    MOTE_UPDATE_FLASH = 2,      /* the flash driver failed, or what was written reads differently */
    MOTE_UPDATE_NO_IMAGE = 3,   /* neither slot holds a model that may run */
    MOTE_UPDATE_STATE = 4,      /* not now: nothing was begun, or nothing is on trial */
    MOTE_UPDATE_ON_TRIAL = 5,   /* confirm or revert what is on trial first */
    MOTE_UPDATE_TOO_LARGE = 6,  /* more than a slot holds, or more than was announced */
    MOTE_UPDATE_INCOMPLETE = 7, /* there is more to come */
    MOTE_UPDATE_DAMAGED = 8,    /* a checksum is wrong */
    MOTE_UPDATE_NOT_IMAGE = 9,  /* not an image, or not one of this format */
    MOTE_UPDATE_PRODUCT = 10,   /* for another product */
    MOTE_UPDATE_OLD = 11,       /* its version is below the anti-rollback counter */
    MOTE_UPDATE_UNSIGNED = 12,  /* there is no signature, and there must be one */
    MOTE_UPDATE_FORGED = 13,    /* no key that is known made the signature */
    MOTE_UPDATE_REFUSED = 14,   /* the firmware's own check does not accept it */
    MOTE_UPDATE_SOURCE = 15,    /* a delta to another image than the one that is installed */
    MOTE_UPDATE_BAD_DELTA = 16  /* a delta that is none */
} mote_update_status;

typedef struct {
    mote_flash_t flash;
    mote_area_t slot[2]; /* at multiples of 8 */
    mote_area_t journal; /* two sectors or more */
    uint8_t *buffer;
    uint32_t buffer_bytes;  /* a power of two, at least MOTE_UPDATE_LEAST_BUFFER; sectors are multiples of it */
    uint8_t often;          /* 1: progress is recorded with every buffer, not once a sector: for large sectors */
    uint32_t product;       /* the product that images must be for; 0: any */
    uint32_t least_version; /* no image with a lower version is accepted or run, whatever the journal says */
    uint8_t trials;         /* boots that a new model has to be confirmed in, at least 1 */
    const uint8_t (*keys)[MOTE_PUBLIC_KEY_BYTES]; /* any of these may have signed an image */
    uint32_t key_count;                           /* 0: images need no signature */
    mote_verify_fn verify;
    void *verify_context;
    /* Whether this firmware can run an image: 0 if so. It should call mote_init. NULL: not asked. */
    int (*accept)(void *context, const void *image, uint32_t bytes);
    void *accept_context;
} mote_update_settings_t;

enum {
    MOTE_UPDATE_IDLE,      /* the active model is confirmed, or there is none */
    MOTE_UPDATE_RECEIVING, /* the slot that is not active is being filled */
    MOTE_UPDATE_TRIAL      /* the active model is new and not confirmed; the other slot has the one before */
};

/* One record of the journal: the whole state. docs/deploy/updates.md describes every byte. */
typedef struct {
    uint32_t sequence; /* counts up; the highest holds */
    uint8_t format, state, active, tries;
    uint32_t counter;      /* against rollback: the highest version that was confirmed */
    uint32_t length[2];    /* bytes in each slot, image and signature; 0: nothing of use */
    uint32_t rejected;     /* version of the model that failed its trial last; 0: none */
    uint32_t stream_bytes; /* what is being received, or was received last: its bytes, its CRC-32 */
    uint32_t stream_crc;
    uint32_t position, position_crc; /* bytes of it that were received, and their CRC-32 */
    uint32_t total, written;         /* bytes that it makes, and those of them that are in flash */
    uint32_t left;                   /* bytes left of the delta's instruction under way; bit 31: it copies */
    uint32_t source;                 /* the delta's next byte of the installed image */
    uint32_t delta;                  /* whether it is one */
    uint32_t crc;                    /* of all of the above */
} mote_update_record_t;

/* An updater. Nothing in it is for the firmware to touch. */
typedef struct {
    const mote_update_settings_t *settings;
    mote_update_record_t record; /* what holds; position and written go ahead of the journal between marks */
    uint32_t next;               /* the place of the next record */
    uint32_t fill;               /* bytes in the buffer */
    uint32_t source_bytes;       /* of the image that a delta copies from */
    uint32_t number;             /* a number of a delta that is being read */
    uint8_t shift, phase;
    uint8_t running;             /* the slot of the model that runs */
} mote_update_t;

typedef struct {
    uint8_t state, active, tries;    /* MOTE_UPDATE_IDLE...; a slot; boots of the trial so far (0: not yet booted) */
    uint32_t version, bytes, crc;    /* of the active image, without its signature; 0 where there is none */
    uint32_t counter, product;       /* the lowest version that is accepted; the product */
    uint32_t rejected;               /* version of the model that failed its trial last */
    uint32_t slot_bytes;             /* the largest update, with its signature */
    uint32_t stream_bytes, stream_crc, position, position_crc; /* of what is being received */
} mote_update_info_t;

/* Whether an image of `length` bytes in memory, signature included, may run: its CRC-32, its product and version, its
 * signature where the settings have keys. Nothing else of the settings matters, and no updater is needed: whoever takes
 * images in another way asks here. */
mote_update_status mote_update_examine(const mote_update_settings_t *settings, uint32_t least_version,
                                       const void *image, uint32_t length);

/* After every reset, before everything else: finds the model to run, counts the boots of one on trial and takes it back
 * after the last. MOTE_UPDATE_NO_IMAGE: there is none, but one can be received. */
mote_update_status mote_update_boot(mote_update_t *update, const mote_update_settings_t *settings);

/* The model to run and its bytes, without the signature; NULL where there is none. It stays until the next boot. */
const void *mote_update_image(const mote_update_t *update, uint32_t *bytes);

void mote_update_info(const mote_update_t *update, mote_update_info_t *info);

/* An image, or a delta to the installed one, of so many bytes is to come, signature included. Where it is what was
 * being received when the connection or the power was lost, it goes on at `position`, which is 0 otherwise. */
mote_update_status mote_update_begin(mote_update_t *update, int delta, uint32_t bytes, uint32_t crc,
                                     uint32_t *position);

/* The next bytes. Whatever is wrong with them ends the update; only of more bytes than were announced none is taken. */
mote_update_status mote_update_write(mote_update_t *update, const void *data, uint32_t bytes);

/* Checks all of it and marks it for trial at the next boot. MOTE_UPDATE_OK as well where that is already so. */
mote_update_status mote_update_finish(mote_update_t *update);

/* Forgets what was received. */
mote_update_status mote_update_abort(mote_update_t *update);

/* The model on trial works: it stays, and nothing older is accepted from now on. */
mote_update_status mote_update_confirm(mote_update_t *update);

/* The model on trial does not: the one before it is active again. MOTE_UPDATE_NO_IMAGE: that one is damaged, or below the
 * lowest version that is accepted, and there is none. */
mote_update_status mote_update_revert(mote_update_t *update);

const char *mote_update_text(mote_update_status status);

#endif
