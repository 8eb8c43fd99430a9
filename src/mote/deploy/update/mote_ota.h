/* mote_ota.h: the device's side of the protocol that `mote ota` speaks, over any line that carries bytes both ways.
 *
 * Frames are 0x7e, type, sequence number, data, CRC-32, 0x7e; what happens to be 0x7e or 0x7d between is sent as 0x7d
 * and the byte xor 0x20. The host asks, the device answers; what is lost or damaged on the way is asked again. Bytes
 * outside of frames are ignored, so that a line may carry text as well. docs/deploy/updates.md describes every message.
 */
#ifndef MOTE_OTA_H
#define MOTE_OTA_H

#include "mote_update.h"

#define MOTE_OTA_PROTOCOL 1u
#define MOTE_OTA_LEAST_FRAME 128u

enum { /* What the host asks for; an answer has bit 7 as well. */
    MOTE_OTA_HELLO = 1,
    MOTE_OTA_BEGIN = 2,
    MOTE_OTA_DATA = 3,
    MOTE_OTA_FINISH = 4,
    MOTE_OTA_RESTART = 5,
    MOTE_OTA_CONFIRM = 6,
    MOTE_OTA_ABORT = 7,
    MOTE_OTA_ANSWER = 0x80
};

enum { MOTE_OTA_DELTA = 1, MOTE_OTA_ANEW = 2 }; /* flags of MOTE_OTA_BEGIN */

#define MOTE_OTA_MALFORMED 254u /* beside mote_update_status: a message of the wrong length, */
#define MOTE_OTA_UNKNOWN 255u   /* or of a type that this device does not know */

typedef struct {
    mote_update_t *update;
    void (*send)(void *context, const uint8_t *data, uint32_t bytes);
    void (*restart)(void *context); /* to run a new model, after the answer was handed to `send`; NULL: refused */
    void *context;
    uint8_t *frame; /* room for a message: at least MOTE_OTA_LEAST_FRAME bytes */
    uint32_t frame_bytes;
    uint8_t may_confirm; /* 1: the host may confirm a model on trial; 0: only the firmware does */
    /* The rest is set by mote_ota_reset. */
    uint32_t fill;
    uint8_t escaped, skips;
    uint8_t last_type, last_sequence; /* the request that was answered last, so that it is not followed twice */
    uint32_t last_status;
} mote_ota_t;

/* A new connection. */
void mote_ota_reset(mote_ota_t *ota);

/* Bytes that came in, as many as there are; answers are sent from here. */
void mote_ota_receive(mote_ota_t *ota, const uint8_t *data, uint32_t bytes);

#endif
