/* mote_delta.c: an image as differences to the installed one: instructions to copy from it, and bytes to insert.
 * docs/deploy/updates.md describes every byte. What comes out is checked as any image is, so that a delta needs no trust. */
#include "mote_update_parts.h"

#define MAGIC 0x544c444du /* "MDLT" */
#define FORMAT 1u
#define HEADER ((uint32_t)24)

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* Checks the header, which is in the buffer. */
static mote_update_status begin(mote_update_t *u) {
    const mote_update_settings_t *s = u->settings;
    const uint8_t *header = s->buffer;
    u->fill = 0;
    if (u->source_bytes == 0) return MOTE_UPDATE_SOURCE;
    if (mote_word(header, 0) != MAGIC || mote_word(header, 4) != (FORMAT | HEADER << 16)) return MOTE_UPDATE_BAD_DELTA;
    const uint8_t *image = s->flash.base + s->slot[u->record.active].at;
    if (mote_word(header, 8) != u->source_bytes || mote_word(header, 12) != mote_word(image, 12)) {
        return MOTE_UPDATE_SOURCE;
    }
    u->record.total = mote_word(header, 16);
    if (u->record.total < MOTE_UPDATE_LEAST_IMAGE) return MOTE_UPDATE_NOT_IMAGE;
    return u->record.total > s->slot[mote_update_target(u)].bytes ? MOTE_UPDATE_TOO_LARGE : MOTE_UPDATE_OK;
}

/* A byte of a number, seven bits each, the lowest first; bit 7: there are more. 1: it is complete, -1: it is too
 * large. */
static int read_number(mote_update_t *u, uint8_t byte) {
    if (u->shift == 28 && byte > 15) return -1;
    u->number |= (uint32_t)(byte & 0x7fu) << u->shift;
    u->shift = (uint8_t)(u->shift + 7);
    return byte < 0x80;
}

/* What a complete number means. */
static mote_update_status understand(mote_update_t *u) {
    mote_update_record_t *r = &u->record;
    const uint32_t number = u->number, length = r->left & ~MOTE_UPDATE_COPIES;
    u->number = 0;
    u->shift = 0;
    if (u->phase == MOTE_PHASE_OFFSET) {
        r->source += (number >> 1) ^ (0u - (number & 1u)); /* a signed number: 0, -1, 1, -2 ... */
        u->phase = MOTE_PHASE_RUN;
        return r->source <= u->source_bytes && length <= u->source_bytes - r->source ? MOTE_UPDATE_OK
                                                                                     : MOTE_UPDATE_BAD_DELTA;
    }
    r->left = number >> 1 | (number & 1u) << 31;
    u->phase = (number & 1u) != 0 ? MOTE_PHASE_OFFSET : MOTE_PHASE_RUN;
    return number >> 1 == 0 || number >> 1 > r->total - r->written - u->fill ? MOTE_UPDATE_BAD_DELTA : MOTE_UPDATE_OK;
}

/* A byte of the header or of a number. */
static mote_update_status parse(mote_update_t *u, const uint8_t *byte) {
    mote_update_took(u, byte, 1);
    if (u->phase == MOTE_PHASE_HEADER) {
        u->settings->buffer[u->fill++] = *byte;
        if (u->fill < HEADER) return MOTE_UPDATE_OK;
        u->phase = MOTE_PHASE_LENGTH;
        return begin(u);
    }
    if (u->phase == MOTE_PHASE_RUN) u->phase = MOTE_PHASE_LENGTH;
    const int complete = read_number(u, *byte);
    return complete < 0 ? MOTE_UPDATE_BAD_DELTA : complete > 0 ? understand(u) : MOTE_UPDATE_OK;
}

mote_update_status mote_delta_write(mote_update_t *u, const uint8_t *data, uint32_t bytes) {
    const mote_update_settings_t *s = u->settings;
    mote_update_record_t *r = &u->record;
    mote_update_status status = MOTE_UPDATE_OK;
    while (status == MOTE_UPDATE_OK) {
        uint32_t left = u->phase == MOTE_PHASE_RUN ? r->left & ~MOTE_UPDATE_COPIES : 0;
        const uint32_t copies = r->left & MOTE_UPDATE_COPIES;
        if (bytes == 0 && (left == 0 || copies == 0)) break;
        if (left == 0) {
            status = parse(u, data++);
            bytes--;
            continue;
        }
        left = least(left, s->buffer_bytes - u->fill);
        if (copies != 0) {
            if (r->source > u->source_bytes || left > u->source_bytes - r->source) return MOTE_UPDATE_BAD_DELTA;
            memcpy(s->buffer + u->fill, s->flash.base + s->slot[r->active].at + r->source, (size_t)left);
            r->source += left;
        } else {
            left = least(left, bytes);
            memcpy(s->buffer + u->fill, data, (size_t)left);
            mote_update_took(u, data, left);
            data += left;
            bytes -= left;
        }
        r->left -= left;
        u->fill += left;
        if (u->fill == s->buffer_bytes) status = mote_update_flush(u);
    }
    return status;
}
