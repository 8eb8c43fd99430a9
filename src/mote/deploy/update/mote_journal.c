/* mote_journal.c: the state of the updater in flash, as records one after another; the newest that is whole holds.
 *
 * Each record is the whole state, so that nothing has to be put together. When a sector is full the next one is
 * erased and gets the next record; the newest is in the other one until that is complete. A record that was torn has
 * a wrong CRC-32 and is passed over. Remains of a sector that was erased by half are older than the newest record.
 */
#include "mote_update_parts.h"

#define FORMAT 1u
#define RECORD ((uint32_t)sizeof(mote_update_record_t))
#define SUMMED ((uint32_t)offsetof(mote_update_record_t, crc))

static int read_flash(const mote_flash_t *flash, uint32_t at, void *data, uint32_t bytes) {
    if (flash->read != NULL) return flash->read(flash->context, at, data, bytes);
    memcpy(data, flash->base + at, (size_t)bytes);
    return 0;
}

int mote_flash_blank(const mote_flash_t *flash, uint32_t at, uint32_t bytes) {
    for (; bytes != 0; at += 4, bytes -= 4) {
        uint32_t word;
        if (read_flash(flash, at, &word, sizeof word) != 0 || word != UINT32_MAX) return 0;
    }
    return 1;
}

/* The bytes that a record takes. */
static uint32_t stride(const mote_update_settings_t *s) { return s->flash.unit > RECORD ? s->flash.unit : RECORD; }

static uint32_t place(const mote_update_settings_t *s, uint32_t sector, uint32_t index) {
    return s->journal.at + sector * s->journal.sector + index * stride(s);
}

static int is_valid(const mote_update_settings_t *s, const mote_update_record_t *r) {
    if (r->crc != mote_frame_crc(0, r, SUMMED) || r->format != FORMAT || r->state > MOTE_UPDATE_TRIAL) return 0;
    if (r->active > 1 && (r->active != MOTE_UPDATE_NO_SLOT || r->state == MOTE_UPDATE_TRIAL)) return 0;
    return r->length[0] <= s->slot[0].bytes && r->length[1] <= s->slot[1].bytes;
}

int mote_journal_load(mote_update_t *update) {
    const mote_update_settings_t *s = update->settings;
    const uint32_t sectors = s->journal.bytes / s->journal.sector, records = s->journal.sector / stride(s);
    int found = 0;
    update->sector = sectors - 1;
    update->index = records;
    for (uint32_t sector = 0; sector < sectors; sector++) {
        for (uint32_t index = 0; index < records; index++) {
            mote_update_record_t record;
            if (read_flash(&s->flash, place(s, sector, index), &record, RECORD) != 0) continue;
            if (!is_valid(s, &record) || (found && record.sequence <= update->record.sequence)) continue;
            update->record = record;
            update->sector = sector;
            update->index = index + 1;
            found = 1;
        }
    }
    return found;
}

mote_update_status mote_journal_append(mote_update_t *update, const mote_update_record_t *next) {
    const mote_update_settings_t *s = update->settings;
    const mote_flash_t *flash = &s->flash;
    const uint32_t bytes = stride(s), records = s->journal.sector / bytes;
    uint32_t sector = update->sector, index = update->index;
    mote_update_record_t record = *next;
    record.format = FORMAT;
    record.sequence = ++update->record.sequence; /* no two records have the same, even where one fails */
    record.crc = mote_frame_crc(0, &record, SUMMED);
    while (index < records && !mote_flash_blank(flash, place(s, sector, index), bytes)) index++;
    if (index == records) {
        sector = (sector + 1) % (s->journal.bytes / s->journal.sector);
        index = 0;
        if (flash->erase(flash->context, place(s, sector, 0), s->journal.sector) != 0) return MOTE_UPDATE_FLASH;
    }
    memset(s->buffer, 0xff, (size_t)bytes);
    memcpy(s->buffer, &record, RECORD);
    if (flash->write(flash->context, place(s, sector, index), s->buffer, bytes) != 0) return MOTE_UPDATE_FLASH;
    if (read_flash(flash, place(s, sector, index), &record, RECORD) != 0) return MOTE_UPDATE_FLASH;
    if (memcmp(&record, s->buffer, RECORD) != 0) return MOTE_UPDATE_FLASH;
    update->record = record;
    update->sector = sector;
    update->index = index + 1;
    return MOTE_UPDATE_OK;
}
