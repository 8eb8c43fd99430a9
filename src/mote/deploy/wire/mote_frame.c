/* mote_frame.c: messages in a stream of bytes. */
#include "mote_frame.h"

#include "mote_crc.h"

#define FLAG 0x7eu
#define ESCAPE 0x7du
#define CHANGED 0x20u

uint32_t mote_frame_crc(uint32_t crc, const void *data, size_t bytes) { return mote_crc(crc, data, bytes, 1); }

void mote_frame_reset(mote_frame_t *frame) {
    frame->fill = 0;
    frame->escaped = 0;
    frame->skips = 1;
}

/* The bytes of the message that has come in, or 0 where it is none. */
static uint32_t checked(const mote_frame_t *frame) {
    if (frame->skips != 0 || frame->fill < MOTE_FRAME_HEAD + MOTE_FRAME_CHECK) return 0;
    const uint32_t bytes = frame->fill - MOTE_FRAME_CHECK;
    return mote_frame_crc(0, frame->data, (size_t)bytes) == mote_word(frame->data, bytes) ? bytes : 0;
}

uint32_t mote_frame_take(mote_frame_t *frame, uint8_t byte) {
    uint32_t bytes = 0;
    if (byte == FLAG) {
        bytes = checked(frame);
        frame->fill = 0;
        frame->escaped = 0;
        frame->skips = 0;
    } else if (byte == ESCAPE) {
        frame->escaped = CHANGED;
    } else if (frame->skips == 0) {
        frame->skips = frame->fill == frame->bytes;
        if (frame->skips == 0) frame->data[frame->fill++] = (uint8_t)(byte ^ frame->escaped);
        frame->escaped = 0;
    }
    return bytes;
}

void mote_frame_send(uint8_t *message, uint32_t bytes, mote_send_fn send, void *context) {
    uint8_t out[32];
    uint32_t fill = 0;
    const uint8_t *const end = mote_put_word(message + bytes, mote_frame_crc(0, message, (size_t)bytes));
    out[fill++] = FLAG;
    for (const uint8_t *at = message; at < end; at++) {
        const int stuffed = *at == FLAG || *at == ESCAPE;
        if (stuffed) out[fill++] = ESCAPE;
        out[fill++] = (uint8_t)(stuffed ? *at ^ CHANGED : *at);
        if (fill >= sizeof out - 2) {
            send(context, out, fill);
            fill = 0;
        }
    }
    out[fill++] = FLAG;
    send(context, out, fill);
}
