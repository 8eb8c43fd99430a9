/* mote_journal.c: the state of the updater in flash, as records one after another (mote_records.h). Each is the whole
 * state, so that nothing has to be put together.
 */
#include "mote_update_parts.h"

#define FORMAT 1u
#define RECORD ((uint32_t)sizeof(mote_update_record_t))
#define SUMMED ((uint32_t)offsetof(mote_update_record_t, crc))

static mote_records_t records_of(const mote_update_settings_t *s) {
    const mote_records_t records = {&s->flash, s->journal, s->buffer};
    return records;
}

static int is_valid(const mote_update_settings_t *s, const mote_update_record_t *r) {
    if (r->crc != mote_frame_crc(0, r, SUMMED) || r->format != FORMAT || r->state > MOTE_UPDATE_TRIAL) return 0;
    if (r->active > 1 && (r->active != MOTE_UPDATE_NO_SLOT || r->state == MOTE_UPDATE_TRIAL)) return 0;
    return r->length[0] <= s->slot[0].bytes && r->length[1] <= s->slot[1].bytes;
}

int mote_journal_load(mote_update_t *update) {
    const mote_update_settings_t *s = update->settings;
    const mote_records_t records = records_of(s);
    const uint32_t places = mote_records_count(&records, RECORD);
    int found = 0;
    update->next = places;
    for (uint32_t place = 0; place < places; place++) {
        mote_update_record_t record;
        if (mote_flash_read(&s->flash, mote_record_at(&records, RECORD, place), &record, RECORD) != 0) continue;
        if (!is_valid(s, &record) || (found && !mote_record_later(record.sequence, update->record.sequence))) continue;
        update->record = record;
        update->next = place + 1;
        found = 1;
    }
    return found;
}

mote_update_status mote_journal_append(mote_update_t *update, const mote_update_record_t *next) {
    const mote_records_t records = records_of(update->settings);
    mote_record_writer_t writer;
    mote_update_record_t record = *next;
    record.format = FORMAT;
    record.sequence = ++update->record.sequence; /* no two records have the same, even where one fails */
    const uint32_t place = mote_record_behind(&records, RECORD, update->next);
    mote_record_begin(&writer, &records, RECORD, place);
    mote_record_put(&writer, &record, SUMMED);
    if (!mote_record_end(&writer, RECORD, place)) return MOTE_UPDATE_FLASH;
    update->record = record;
    update->next = place + 1;
    return MOTE_UPDATE_OK;
}
