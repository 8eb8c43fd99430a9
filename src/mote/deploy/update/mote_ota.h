/* mote_ota.h: the device's side of the protocol that `mote ota` speaks, over any line that carries bytes both ways.
 *
 * Messages are framed by mote_frame.h. The host asks, the device answers; what is lost or damaged on the way is asked
 * again. docs/deploy/updates.md describes every message.
 */
#ifndef MOTE_OTA_H
#define MOTE_OTA_H

#include "mote_frame.h"
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
    MOTE_OTA_ANSWER = MOTE_FRAME_ANSWER
};

enum { MOTE_OTA_DELTA = 1, MOTE_OTA_ANEW = 2 }; /* flags of MOTE_OTA_BEGIN */

#define MOTE_OTA_MALFORMED 254u /* beside mote_update_status: a message of the wrong length, */
#define MOTE_OTA_UNKNOWN 255u   /* or of a type that this device does not know */

typedef struct {
    mote_update_t *update;
    mote_send_fn send;
    void (*restart)(void *context); /* to run a new model, after the answer was handed to `send`; NULL: refused */
    void *context;
    uint8_t *frame; /* room for a message: at least MOTE_OTA_LEAST_FRAME bytes */
    uint32_t frame_bytes;
    uint8_t may_confirm; /* 1: the host may confirm a model on trial; 0: only the firmware does */
    /* The rest is set by mote_ota_reset. */
    mote_frame_t line;
    uint8_t last_type, last_sequence; /* the request that was answered last, so that it is not followed twice */
    uint32_t last_status;
} mote_ota_t;

/* A new connection. */
void mote_ota_reset(mote_ota_t *ota);

/* Bytes that came in, as many as there are; answers are sent from here. */
void mote_ota_receive(mote_ota_t *ota, const uint8_t *data, uint32_t bytes);

/* A whole message of so many bytes in `frame`, on a line that carries other messages too; it is answered from there. */
void mote_ota_answer(mote_ota_t *ota, uint32_t bytes);

#endif
