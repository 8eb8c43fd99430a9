/* mote_ota.c: the protocol of updates on the device. */
#include "mote_ota.h"

#include "mote_update_parts.h"

#define FLAG 0x7eu
#define ESCAPE 0x7du
#define HEAD 2u /* type and sequence number */
#define CHECK 4u
#define POSITION 4u

static uint8_t *put(uint8_t *to, uint32_t value) {
    memcpy(to, &value, sizeof value);
    return to + sizeof value;
}

/* Sends the message in `frame`, which ends at `end`. */
static void answer(mote_ota_t *ota, uint8_t *end) {
    uint8_t out[32];
    uint32_t fill = 0;
    ota->frame[0] |= MOTE_OTA_ANSWER;
    end = put(end, mote_update_crc(0, ota->frame, (size_t)(end - ota->frame)));
    out[fill++] = FLAG;
    for (const uint8_t *at = ota->frame; at < end; at++) {
        const int stuffed = *at == FLAG || *at == ESCAPE;
        if (stuffed) out[fill++] = ESCAPE;
        out[fill++] = stuffed ? *at ^ 0x20u : *at;
        if (fill >= sizeof out - 2) {
            ota->send(ota->context, out, fill);
            fill = 0;
        }
    }
    out[fill++] = FLAG;
    ota->send(ota->context, out, fill);
}

static uint8_t *hello(const mote_ota_t *ota, uint8_t *to) {
    mote_update_info_t info;
    mote_update_info(ota->update, &info);
    *to++ = MOTE_OTA_PROTOCOL;
    *to++ = info.state;
    *to++ = info.tries;
    *to++ = info.active;
    to = put(to, ota->frame_bytes - HEAD - POSITION - CHECK);
    to = put(to, info.slot_bytes);
    to = put(to, info.version);
    to = put(to, info.bytes);
    to = put(to, info.crc);
    to = put(to, info.counter);
    to = put(to, info.product);
    to = put(to, info.rejected);
    to = put(to, info.stream_bytes);
    to = put(to, info.stream_crc);
    to = put(to, info.position);
    return put(to, info.position_crc);
}

static uint32_t begin(mote_ota_t *ota, const uint8_t *data) {
    const uint32_t flags = mote_word(data, 0);
    uint32_t position;
    if ((flags & MOTE_OTA_ANEW) != 0) (void)mote_update_abort(ota->update);
    const int delta = (flags & MOTE_OTA_DELTA) != 0;
    return (uint32_t)mote_update_begin(ota->update, delta, mote_word(data, 4), mote_word(data, 8), &position);
}

/* Takes data only where it goes on from what is there: all else was taken before, or comes too early. */
static uint32_t take(mote_ota_t *ota, const uint8_t *data, uint32_t bytes) {
    mote_update_info_t info;
    mote_update_info(ota->update, &info);
    if (info.state != MOTE_UPDATE_RECEIVING) return MOTE_UPDATE_STATE;
    if (mote_word(data, 0) != info.position) return MOTE_UPDATE_OK;
    return (uint32_t)mote_update_write(ota->update, data + POSITION, bytes - POSITION);
}

/* Whether a restart would run a new model. A request that comes again, because its answer was lost, must not restart
 * the device once more: that would use up the model's trials. */
static int waits_for_boot(const mote_ota_t *ota) {
    mote_update_info_t info;
    mote_update_info(ota->update, &info);
    return info.state == MOTE_UPDATE_TRIAL && info.tries == 0;
}

/* Does what is asked for, at most once; the status. */
static uint32_t follow(mote_ota_t *ota, uint32_t type, const uint8_t *data, uint32_t bytes) {
    switch (type) {
    case MOTE_OTA_HELLO: return MOTE_UPDATE_OK;
    case MOTE_OTA_BEGIN: return bytes != 12 ? MOTE_OTA_MALFORMED : begin(ota, data);
    case MOTE_OTA_DATA: return bytes < POSITION ? MOTE_OTA_MALFORMED : take(ota, data, bytes);
    case MOTE_OTA_FINISH: return (uint32_t)mote_update_finish(ota->update);
    case MOTE_OTA_RESTART: return ota->restart == NULL ? MOTE_OTA_UNKNOWN : (uint32_t)MOTE_UPDATE_OK;
    case MOTE_OTA_CONFIRM: return ota->may_confirm ? (uint32_t)mote_update_confirm(ota->update) : MOTE_OTA_UNKNOWN;
    case MOTE_OTA_ABORT: return (uint32_t)mote_update_abort(ota->update);
    default: return MOTE_OTA_UNKNOWN;
    }
}

/* A whole frame is there. */
static void handle(mote_ota_t *ota) {
    uint8_t *frame = ota->frame;
    const uint32_t bytes = ota->fill - CHECK;
    if (ota->fill < HEAD + CHECK || mote_update_crc(0, frame, (size_t)bytes) != mote_word(frame, bytes)) return;
    const uint8_t type = frame[0], sequence = frame[1];
    if (type != ota->last_type || sequence != ota->last_sequence) {
        ota->last_status = follow(ota, type, frame + HEAD, bytes - HEAD);
        ota->last_type = type;
        ota->last_sequence = sequence;
    }
    uint8_t *to = put(frame + HEAD, ota->last_status);
    if (type == MOTE_OTA_HELLO) {
        to = hello(ota, to);
    } else if (type == MOTE_OTA_BEGIN || type == MOTE_OTA_DATA) {
        mote_update_info_t info;
        mote_update_info(ota->update, &info);
        to = put(to, info.position);
        to = put(to, info.position_crc);
    }
    answer(ota, to);
    if (type == MOTE_OTA_RESTART && ota->restart != NULL && waits_for_boot(ota)) ota->restart(ota->context);
}

void mote_ota_reset(mote_ota_t *ota) {
    ota->fill = 0;
    ota->escaped = 0;
    ota->skips = 1;
    ota->last_type = 0;
}

void mote_ota_receive(mote_ota_t *ota, const uint8_t *data, uint32_t bytes) {
    for (; bytes != 0; bytes--) {
        uint8_t byte = *data++;
        if (byte == FLAG) {
            if (ota->skips == 0 && ota->fill != 0) handle(ota);
            ota->fill = 0;
            ota->escaped = 0;
            ota->skips = 0;
        } else if (byte == ESCAPE) {
            ota->escaped = 0x20;
        } else if (ota->skips == 0) {
            byte ^= ota->escaped;
            ota->escaped = 0;
            ota->skips = ota->fill == ota->frame_bytes;
            if (ota->skips == 0) ota->frame[ota->fill++] = byte;
        }
    }
}
