/* mote_update.c: two slots, and what is decided about them. */
#include "mote_update_parts.h"

static const uint8_t *image_in(const mote_update_t *u, uint32_t slot) {
    return u->settings->flash.base + u->settings->slot[slot].at;
}

/* Whether a slot holds an image of this length with the right CRC-32. */
static int is_intact(const mote_update_t *u, uint32_t slot, uint32_t length) {
    return slot <= 1 && length <= u->settings->slot[slot].bytes && mote_image_is_intact(image_in(u, slot), length);
}

/* Whether it may run as well: its version is not below the floor. */
static int may_run(const mote_update_t *u, uint32_t slot, uint32_t length) {
    return is_intact(u, slot, length) && mote_word(image_in(u, slot), MOTE_AT_VERSION) >= u->record.counter;
}

/* Everything but the firmware's own opinion. */
static mote_update_status check_slot(const mote_update_t *u, uint32_t slot, uint32_t length) {
    if (length > u->settings->slot[slot].bytes) return MOTE_UPDATE_DAMAGED;
    return mote_update_examine(u->settings, u->record.counter, image_in(u, slot), length);
}

/* From now on this slot's model runs, or none. */
static void use(mote_update_t *u, uint8_t slot) {
    u->running = slot;
    u->source_bytes = slot == MOTE_UPDATE_NO_SLOT ? 0 : mote_word(image_in(u, slot), MOTE_AT_BYTES);
}

/* The stream is expected from its first byte on. */
static void rewind_stream(mote_update_t *u) {
    mote_update_record_t *r = &u->record;
    r->position = r->position_crc = r->written = r->left = r->source = 0;
    r->total = r->delta != 0 ? 0 : r->stream_bytes;
    u->fill = 0;
    u->number = 0;
    u->shift = 0;
    u->phase = MOTE_PHASE_HEADER;
}

/* Ends what was being received. Whether the journal could be told matters less than why. */
static mote_update_status give_up(mote_update_t *u, mote_update_status why) {
    mote_update_record_t *r = &u->record;
    r->state = MOTE_UPDATE_IDLE;
    r->stream_bytes = r->stream_crc = 0;
    rewind_stream(u);
    const mote_update_status status = mote_journal_append(u, r);
    return why == MOTE_UPDATE_OK ? status : why;
}

/* Whether what the journal says of the stream can be gone on with. Inside of a sector that is so where nothing is
 * written behind the mark, since no unit is written twice. Where it cannot, the journal must forget it before anything
 * is erased: else what it says would look right again. */
static int can_go_on(const mote_update_t *u) {
    const mote_update_settings_t *s = u->settings;
    const mote_update_record_t *r = &u->record;
    const mote_area_t *to = &s->slot[mote_update_target(u)];
    const uint32_t begun = r->written % to->sector;
    if (r->total < MOTE_UPDATE_LEAST_IMAGE || r->total > to->bytes || r->written > r->total) return 0;
    if (r->position > r->stream_bytes || r->written % s->buffer_bytes != 0) return 0;
    if (r->delta != 0 && u->source_bytes == 0) return 0;
    if ((r->left & ~MOTE_UPDATE_COPIES) > r->total - r->written) return 0;
    return begun == 0 || mote_flash_blank(&s->flash, to->at + r->written, to->sector - begun);
}

static int is_power_of_two(uint32_t x) { return x != 0 && (x & (x - 1)) == 0; }

static int area_fits(const mote_update_settings_t *s, const mote_area_t *area, uint32_t sectors) {
    if (area->sector < s->buffer_bytes || area->sector % s->buffer_bytes != 0) return 0;
    if (area->bytes % area->sector != 0 || area->bytes / area->sector < sectors) return 0;
    return area->at % 8 == 0 && area->at <= UINT32_MAX - area->bytes;
}

static int settings_fit(const mote_update_settings_t *s) {
    if (s == NULL || s->buffer == NULL) return 0;
    if (s->flash.base == NULL || s->flash.erase == NULL || s->flash.write == NULL) return 0;
    if (!is_power_of_two(s->flash.unit) || s->flash.unit > MOTE_UPDATE_LEAST_BUFFER) return 0;
    if (!is_power_of_two(s->buffer_bytes) || s->buffer_bytes < MOTE_UPDATE_LEAST_BUFFER) return 0;
    if (s->trials == 0 || (s->key_count != 0 && (s->keys == NULL || s->verify == NULL))) {
        return 0;
    }
    return area_fits(s, &s->slot[0], 1) && area_fits(s, &s->slot[1], 1) && area_fits(s, &s->journal, 2);
}

/* The bytes of what lies in a slot that no journal knows of: by its header, with a signature where there is one. */
static uint32_t measure(const mote_update_t *u, uint32_t slot) {
    const uint8_t *image = image_in(u, slot);
    const uint32_t bytes = mote_word(image, MOTE_AT_BYTES), room = u->settings->slot[slot].bytes;
    if (bytes > room) return 0;
    const int is_signed = room - bytes >= MOTE_UPDATE_SIGNATURE && mote_word(image, bytes) == MOTE_SIGNATURE_MAGIC;
    return is_signed ? bytes + MOTE_UPDATE_SIGNATURE : bytes;
}

/* The active model is damaged or below the floor, or there is no journal yet: of the models in the slots the newest that
 * may run. */
static mote_update_status recover(mote_update_t *u, int has_journal) {
    mote_update_record_t next = u->record;
    uint32_t version = 0;
    use(u, MOTE_UPDATE_NO_SLOT);
    for (uint8_t slot = 0; slot < 2; slot++) {
        const uint32_t length = has_journal ? u->record.length[slot] : measure(u, slot);
        if (check_slot(u, slot, length) != MOTE_UPDATE_OK) continue;
        next.length[slot] = length;
        if (u->running != MOTE_UPDATE_NO_SLOT && mote_word(image_in(u, slot), MOTE_AT_VERSION) <= version) continue;
        version = mote_word(image_in(u, slot), MOTE_AT_VERSION);
        use(u, slot);
    }
    if (u->running == MOTE_UPDATE_NO_SLOT) return MOTE_UPDATE_NO_IMAGE;
    next.active = u->running;
    next.state = MOTE_UPDATE_IDLE;
    next.tries = 0;
    next.counter = version > next.counter ? version : next.counter;
    return mote_journal_append(u, &next);
}

/* The model on trial gets one more boot, or none. One that cannot be counted is not given to it. */
static mote_update_status try_once(mote_update_t *u) {
    mote_update_record_t next = u->record;
    if (next.tries >= u->settings->trials || !may_run(u, next.active, next.length[next.active])) {
        return mote_update_revert(u);
    }
    next.tries++;
    const mote_update_status status = mote_journal_append(u, &next);
    const uint8_t before = next.active ^ 1u;
    const int uncounted = status != MOTE_UPDATE_OK && may_run(u, before, next.length[before]);
    use(u, uncounted ? before : next.active);
    return status;
}

mote_update_status mote_update_boot(mote_update_t *u, const mote_update_settings_t *settings) {
    if (u == NULL) return MOTE_UPDATE_SETTINGS;
    memset(u, 0, sizeof *u);
    if (!settings_fit(settings)) return MOTE_UPDATE_SETTINGS;
    u->settings = settings;
    u->running = MOTE_UPDATE_NO_SLOT;
    u->record.active = MOTE_UPDATE_NO_SLOT;
    const int has_journal = mote_journal_load(u);
    mote_update_record_t *r = &u->record;
    if (r->counter < settings->least_version) r->counter = settings->least_version;
    if (r->state == MOTE_UPDATE_TRIAL) return try_once(u);
    mote_update_status status = MOTE_UPDATE_OK;
    if (r->active <= 1 && may_run(u, r->active, r->length[r->active])) {
        use(u, r->active);
    } else {
        status = recover(u, has_journal);
    }
    u->phase = MOTE_PHASE_RUN;
    if (r->state == MOTE_UPDATE_RECEIVING && !can_go_on(u)) status = give_up(u, status);
    return status;
}

const void *mote_update_image(const mote_update_t *u, uint32_t *bytes) {
    if (u->settings == NULL || u->running == MOTE_UPDATE_NO_SLOT) return NULL;
    *bytes = u->source_bytes;
    return image_in(u, u->running);
}

void mote_update_info(const mote_update_t *u, mote_update_info_t *info) {
    const mote_update_record_t *r = &u->record;
    uint32_t bytes;
    const uint8_t *image = mote_update_image(u, &bytes);
    memset(info, 0, sizeof *info);
    if (u->settings == NULL) return;
    if (image != NULL) {
        info->version = mote_word(image, MOTE_AT_VERSION);
        info->bytes = bytes;
        info->crc = mote_word(image, MOTE_AT_CRC);
    }
    info->state = r->state;
    info->active = u->running;
    info->tries = r->tries;
    info->counter = r->counter;
    info->product = u->settings->product;
    info->rejected = r->rejected;
    info->slot_bytes = u->settings->slot[mote_update_target(u)].bytes;
    info->stream_bytes = r->stream_bytes;
    info->stream_crc = r->stream_crc;
    info->position = r->position;
    info->position_crc = r->position_crc;
}

mote_update_status mote_update_begin(mote_update_t *u, int delta, uint32_t bytes, uint32_t crc, uint32_t *position) {
    mote_update_record_t *r = &u->record;
    *position = 0;
    if (u->settings == NULL) return MOTE_UPDATE_STATE;
    if (r->state == MOTE_UPDATE_TRIAL) return MOTE_UPDATE_ON_TRIAL;
    /* Where boot could not write what it has decided, the slot of the model that runs might be the one to fill. */
    if (u->running != MOTE_UPDATE_NO_SLOT && u->running != r->active) return MOTE_UPDATE_FLASH;
    const uint32_t is_delta = delta != 0;
    if (r->state == MOTE_UPDATE_RECEIVING && r->stream_bytes == bytes && r->stream_crc == crc && r->delta == is_delta) {
        *position = r->position;
        return MOTE_UPDATE_OK;
    }
    if (is_delta && u->source_bytes == 0) return MOTE_UPDATE_SOURCE;
    if (!is_delta && bytes < MOTE_UPDATE_LEAST_IMAGE) return MOTE_UPDATE_NOT_IMAGE;
    if (!is_delta && bytes > u->settings->slot[mote_update_target(u)].bytes) return MOTE_UPDATE_TOO_LARGE;
    r->stream_bytes = bytes;
    r->stream_crc = crc;
    r->delta = is_delta;
    r->state = MOTE_UPDATE_RECEIVING;
    r->length[mote_update_target(u)] = 0;
    rewind_stream(u);
    const mote_update_status status = mote_journal_append(u, r);
    if (status != MOTE_UPDATE_OK) r->state = MOTE_UPDATE_IDLE;
    return status;
}

mote_update_status mote_update_flush(mote_update_t *u) {
    const mote_update_settings_t *s = u->settings;
    const mote_flash_t *flash = &s->flash;
    mote_update_record_t *r = &u->record;
    const mote_area_t *to = &s->slot[mote_update_target(u)];
    const uint32_t bytes = (u->fill + flash->unit - 1) & ~(flash->unit - 1), at = to->at + r->written;
    if (r->written == 0) {
        const mote_update_status status = mote_image_header(s, r->counter, s->buffer, r->total);
        if (status != MOTE_UPDATE_OK) return status;
    }
    if (r->written % to->sector == 0 && flash->erase(flash->context, at, to->sector) != 0) return MOTE_UPDATE_FLASH;
    memset(s->buffer + u->fill, 0xff, (size_t)(bytes - u->fill));
    if (flash->write(flash->context, at, s->buffer, bytes) != 0) return MOTE_UPDATE_FLASH;
    r->written += u->fill;
    u->fill = 0;
    if (r->written == r->total || (s->often == 0 && r->written % to->sector != 0)) return MOTE_UPDATE_OK;
    return mote_journal_append(u, r);
}

void mote_update_took(mote_update_t *u, const uint8_t *data, uint32_t bytes) {
    u->record.position += bytes;
    u->record.position_crc = mote_frame_crc(u->record.position_crc, data, (size_t)bytes);
}

/* The next bytes of an image. */
static mote_update_status write_image(mote_update_t *u, const uint8_t *data, uint32_t bytes) {
    const mote_update_settings_t *s = u->settings;
    mote_update_status status = MOTE_UPDATE_OK;
    while (bytes != 0 && status == MOTE_UPDATE_OK) {
        const uint32_t room = s->buffer_bytes - u->fill, taken = bytes < room ? bytes : room;
        memcpy(s->buffer + u->fill, data, (size_t)taken);
        mote_update_took(u, data, taken);
        u->fill += taken;
        data += taken;
        bytes -= taken;
        if (u->fill == s->buffer_bytes) status = mote_update_flush(u);
    }
    return status;
}

mote_update_status mote_update_write(mote_update_t *u, const void *data, uint32_t bytes) {
    mote_update_record_t *r = &u->record;
    if (u->settings == NULL || r->state != MOTE_UPDATE_RECEIVING) return MOTE_UPDATE_STATE;
    if (bytes > r->stream_bytes - r->position) return MOTE_UPDATE_TOO_LARGE;
    const mote_update_status status = r->delta != 0 ? mote_delta_write(u, data, bytes) : write_image(u, data, bytes);
    return status == MOTE_UPDATE_OK ? status : give_up(u, status);
}

/* All that can be found out about what was received. */
static mote_update_status check_received(mote_update_t *u) {
    const mote_update_settings_t *s = u->settings;
    const mote_update_record_t *r = &u->record;
    if (r->position_crc != r->stream_crc) return MOTE_UPDATE_DAMAGED;
    if (r->total == 0 || r->written + u->fill != r->total) return MOTE_UPDATE_BAD_DELTA;
    mote_update_status status = u->fill != 0 ? mote_update_flush(u) : MOTE_UPDATE_OK;
    if (status == MOTE_UPDATE_OK) status = check_slot(u, mote_update_target(u), r->total);
    if (status != MOTE_UPDATE_OK || s->accept == NULL) return status;
    const uint8_t *image = image_in(u, mote_update_target(u));
    return s->accept(s->accept_context, image, mote_word(image, MOTE_AT_BYTES)) == 0 ? MOTE_UPDATE_OK : MOTE_UPDATE_REFUSED;
}

mote_update_status mote_update_finish(mote_update_t *u) {
    mote_update_record_t *r = &u->record;
    if (u->settings != NULL && r->state == MOTE_UPDATE_TRIAL) return MOTE_UPDATE_OK;
    mote_update_status status = mote_update_write(u, NULL, 0);
    if (status != MOTE_UPDATE_OK) return status;
    if (r->position != r->stream_bytes) return MOTE_UPDATE_INCOMPLETE;
    status = check_received(u);
    if (status != MOTE_UPDATE_OK) return give_up(u, status);
    mote_update_record_t next = *r;
    next.state = MOTE_UPDATE_TRIAL;
    next.tries = 0;
    next.active = (uint8_t)mote_update_target(u);
    next.length[next.active] = r->total;
    return mote_journal_append(u, &next);
}

mote_update_status mote_update_abort(mote_update_t *u) {
    if (u->settings == NULL || u->record.state != MOTE_UPDATE_RECEIVING) return MOTE_UPDATE_STATE;
    return give_up(u, MOTE_UPDATE_OK);
}

mote_update_status mote_update_confirm(mote_update_t *u) {
    mote_update_record_t next = u->record;
    if (u->settings == NULL || next.state != MOTE_UPDATE_TRIAL || next.tries == 0) return MOTE_UPDATE_STATE;
    if (u->running != next.active) return MOTE_UPDATE_STATE;
    const uint32_t version = mote_word(image_in(u, next.active), MOTE_AT_VERSION);
    next.state = MOTE_UPDATE_IDLE;
    next.tries = 0;
    next.counter = version > next.counter ? version : next.counter;
    return mote_journal_append(u, &next);
}

mote_update_status mote_update_revert(mote_update_t *u) {
    mote_update_record_t next = u->record;
    if (u->settings == NULL || next.state != MOTE_UPDATE_TRIAL) return MOTE_UPDATE_STATE;
    const uint8_t failed = next.active, other = failed ^ 1u;
    next.rejected = mote_word(image_in(u, failed), MOTE_AT_VERSION);
    next.length[failed] = 0;
    next.active = may_run(u, other, next.length[other]) ? other : (uint8_t)MOTE_UPDATE_NO_SLOT;
    next.state = MOTE_UPDATE_IDLE;
    next.tries = 0;
    use(u, next.active);
    const mote_update_status status = mote_journal_append(u, &next);
    return status == MOTE_UPDATE_OK && next.active == MOTE_UPDATE_NO_SLOT ? MOTE_UPDATE_NO_IMAGE : status;
}
