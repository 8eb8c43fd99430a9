/* mote_frame.h: messages over any line that carries bytes both ways, as updates and the agent send them.
 *
 * A frame is 0x7e, type, sequence number, data, CRC-32 of all three, 0x7e. Bytes between that happen to be 0x7e or 0x7d
 * are sent as 0x7d and the byte xor 0x20. Bytes outside of frames are ignored, so that a line may carry text as well.
 * Words are little-endian, and so must be the core.
 */
#ifndef MOTE_FRAME_H
#define MOTE_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOTE_FRAME_HEAD 2u  /* bytes of type and sequence number */
#define MOTE_FRAME_CHECK 4u /* bytes of the CRC-32 behind the data */
#define MOTE_FRAME_ANSWER 0x80u /* in the type of a message: what the device answers */

/* What comes in, and room for one message. */
typedef struct {
    uint8_t *data;  /* the message: type, sequence number, data */
    uint32_t bytes; /* of the room, with the check */
    /* Set by mote_frame_reset. */
    uint32_t fill;
    uint8_t escaped, skips;
} mote_frame_t;

typedef void (*mote_send_fn)(void *context, const uint8_t *data, uint32_t bytes);

/* A new connection: what came before does not count. */
void mote_frame_reset(mote_frame_t *frame);

/* Takes the next byte. Where it ends a message that is whole: the bytes of it in `data`, without the check; else 0. */
uint32_t mote_frame_take(mote_frame_t *frame, uint8_t byte);

/* Sends the first `bytes` bytes of `message`, with the check, which is put behind them there. */
void mote_frame_send(uint8_t *message, uint32_t bytes, mote_send_fn send, void *context);

/* The CRC-32 of zip and Ethernet of what `crc` is the CRC of (0: of nothing) with these bytes behind it. */
uint32_t mote_frame_crc(uint32_t crc, const void *data, size_t bytes);

/* The word at an offset, whatever its alignment. */
static inline uint32_t mote_word(const uint8_t *data, uint32_t offset) {
    uint32_t word;
    memcpy(&word, data + offset, sizeof word);
    return word;
}

/* Puts a word; where the next one goes. */
static inline uint8_t *mote_put_word(uint8_t *to, uint32_t word) {
    memcpy(to, &word, sizeof word);
    return to + sizeof word;
}

#ifdef __cplusplus
}
#endif

#endif
