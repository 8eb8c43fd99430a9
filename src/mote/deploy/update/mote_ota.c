/* mote_ota.c: the protocol of updates on the device. */
#include "mote_ota.h"

#include "mote_update_parts.h"

#define POSITION 4u

static uint8_t *hello(const mote_ota_t *ota, uint8_t *to) {
    mote_update_info_t info;
    mote_update_info(ota->update, &info);
    *to++ = MOTE_OTA_PROTOCOL;
    *to++ = info.state;
    *to++ = info.tries;
    *to++ = info.active;
    to = mote_put_word(to, ota->frame_bytes - MOTE_FRAME_HEAD - POSITION - MOTE_FRAME_CHECK);
    to = mote_put_word(to, info.slot_bytes);
    to = mote_put_word(to, info.version);
    to = mote_put_word(to, info.bytes);
    to = mote_put_word(to, info.crc);
    to = mote_put_word(to, info.counter);
    to = mote_put_word(to, info.product);
    to = mote_put_word(to, info.rejected);
    to = mote_put_word(to, info.stream_bytes);
    to = mote_put_word(to, info.stream_crc);
    to = mote_put_word(to, info.position);
    return mote_put_word(to, info.position_crc);
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

void mote_ota_answer(mote_ota_t *ota, uint32_t bytes) {
    uint8_t *const message = ota->frame;
    const uint8_t type = message[0], sequence = message[1];
    if (type != ota->last_type || sequence != ota->last_sequence) {
        ota->last_status = follow(ota, type, message + MOTE_FRAME_HEAD, bytes - MOTE_FRAME_HEAD);
        ota->last_type = type;
        ota->last_sequence = sequence;
    }
    uint8_t *to = mote_put_word(message + MOTE_FRAME_HEAD, ota->last_status);
    if (type == MOTE_OTA_HELLO) {
        to = hello(ota, to);
    } else if (type == MOTE_OTA_BEGIN || type == MOTE_OTA_DATA) {
        mote_update_info_t info;
        mote_update_info(ota->update, &info);
        to = mote_put_word(to, info.position);
        to = mote_put_word(to, info.position_crc);
    }
    message[0] |= MOTE_OTA_ANSWER;
    mote_frame_send(message, (uint32_t)(to - message), ota->send, ota->context);
    if (type == MOTE_OTA_RESTART && ota->restart != NULL && waits_for_boot(ota)) ota->restart(ota->context);
}

void mote_ota_reset(mote_ota_t *ota) {
    ota->line.data = ota->frame;
    ota->line.bytes = ota->frame_bytes;
    mote_frame_reset(&ota->line);
    ota->last_type = 0;
}

void mote_ota_receive(mote_ota_t *ota, const uint8_t *data, uint32_t bytes) {
    for (; bytes != 0; bytes--) {
        const uint32_t whole = mote_frame_take(&ota->line, *data++);
        if (whole != 0) mote_ota_answer(ota, whole);
    }
}
