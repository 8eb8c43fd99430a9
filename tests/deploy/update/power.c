/* power.c: power is cut at every single flash operation of every scenario, and then the device must go on.
 *
 * usage: power OLD NEW DELTA FORGED [thorough]: images with the signatures of stand_in below; FORGED has the
 * signature of another. After every cut and reset: the model that runs is the old or the new one, whole (never none,
 * unless there was none); the anti-rollback counter has not gone back; the update can be brought to its end. */
#include "mote_update_parts.h"
#include "nor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *data;
    uint32_t bytes;
} blob_t;

typedef struct {
    const char *name;
    uint32_t unit, slot_sector, journal_sector;
    uint8_t often, trials;
    int corrects; /* with error correction */
} geometry_t;

typedef struct {
    const char *name;
    void (*prepare)(void); /* with power that lasts */
    void (*act)(void);     /* power fails in here */
    int may_be_none;       /* there need be no model afterwards */
    int may_be_old, may_be_new;
    int ends_old;          /* what runs in the end, after the host has tried again: the old model, or the new one */
    int is_delta;          /* how the host tries again */
} scenario_t;

static const geometry_t geometries[] = {
    {"bytes", 1, 512, 256, 0, 1, 0},
    {"marks inside of sectors", 8, 1024, 512, 1, 1, 1},
    {"lines with error correction", 32, 512, 512, 0, 1, 1},
    {"pages that are written once", 256, 512, 512, 0, 1, 0},
    {"large sectors", 4, 4096, 4096, 1, 3, 0},
};

static blob_t old_image, new_image, delta, forged;
static mote_update_t update;
static mote_update_settings_t settings;
static uint8_t buffer[256], before[NOR_BYTES];
static uint8_t keys[2][32] = {{0}, {1}};
static uint32_t highest; /* of the anti-rollback counter, seen after a boot */
static uint64_t runs, cuts, checks;
static const char *scenario_name = "", *geometry_name = "";
static int refuse, thorough;
static uint32_t cut_at; /* the operation that is being cut */

void fail(const char *what, const char *file, int line) {
    fprintf(stderr, "%s:%d: %s: %s, %s: operation %u torn as %d (%u)\n", file, line, what, scenario_name, geometry_name,
            (unsigned)cut_at, nor_tear, (unsigned)nor_prefix);
    exit(1);
}

/* Not a signature at all: it only stands for one, and is quick. */
static mote_verdict_t stand_in(void *context, const uint8_t *signature, const uint8_t *public_key,
                                 const mote_message_t *message) {
    (void)context;
    if (public_key[0] != 1) return MOTE_SIGNATURE_WRONG; /* the second key it is */
    const uint32_t crc = mote_frame_crc(0x12345678, message->data, message->bytes);
    return memcmp(&crc, signature, sizeof crc) == 0 ? MOTE_SIGNATURE_VALID : MOTE_SIGNATURE_WRONG;
}

static int accept(void *context, const void *image, uint32_t bytes) {
    (void)context;
    checks++;
    return refuse || image == NULL || bytes < 192;
}

static void set_up(const geometry_t *g) {
    const uint32_t slot = 4096;
    memset(&settings, 0, sizeof settings);
    nor_corrects = g->corrects;
    memset(before, 0xff, sizeof before);
    nor_restore(before);
    nor_unit = g->unit;
    settings.flash.base = nor;
    settings.flash.unit = g->unit;
    settings.flash.erase = nor_erase;
    settings.flash.write = nor_write;
    settings.flash.read = g->corrects ? nor_read : NULL;
    settings.slot[0] = (mote_area_t){0, slot, g->slot_sector};
    settings.slot[1] = (mote_area_t){slot, slot, g->slot_sector};
    settings.journal = (mote_area_t){2 * slot, 2 * g->journal_sector, g->journal_sector};
    settings.buffer = buffer;
    settings.buffer_bytes = sizeof buffer;
    settings.often = g->often;
    settings.product = 7;
    settings.trials = g->trials;
    settings.keys = (const uint8_t (*)[32])keys;
    settings.key_count = 2;
    settings.verify = stand_in;
    settings.accept = accept;
    highest = 0;
}

static uint32_t crc_of(const blob_t *blob) { return mote_frame_crc(0, blob->data, blob->bytes); }

/* A reset: nothing in RAM is left. */
static mote_update_status boot(void) {
    memset(&update, 0xa5, sizeof update);
    memset(buffer, 0xa5, sizeof buffer);
    return mote_update_boot(&update, &settings);
}

/* As a host does: from where the device says that it is, in blocks of odd sizes. */
static mote_update_status send(const blob_t *blob, int is_delta, uint32_t upto) {
    uint32_t position;
    mote_update_status status = mote_update_begin(&update, is_delta, blob->bytes, crc_of(blob), &position);
    while (status == MOTE_UPDATE_OK && position < upto && !nor_dead) {
        uint32_t bytes = 1 + position % 97;
        if (bytes > upto - position) bytes = upto - position;
        status = mote_update_write(&update, blob->data + position, bytes);
        position += bytes;
    }
    return status;
}

static mote_update_status install(const blob_t *blob, int is_delta) {
    const mote_update_status status = send(blob, is_delta, blob->bytes);
    return status == MOTE_UPDATE_OK ? mote_update_finish(&update) : status;
}

static int runs_image(const blob_t *blob) {
    uint32_t bytes;
    const void *image = mote_update_image(&update, &bytes);
    return image != NULL && bytes == blob->bytes - MOTE_UPDATE_SIGNATURE && memcmp(image, blob->data, bytes) == 0;
}

/* Installs and confirms while power lasts. */
static void settle(const blob_t *blob, int is_delta) {
    (void)boot();
    CHECK(install(blob, is_delta) == MOTE_UPDATE_OK);
    CHECK(boot() == MOTE_UPDATE_OK && runs_image(blob));
    CHECK(mote_update_confirm(&update) == MOTE_UPDATE_OK);
    CHECK(boot() == MOTE_UPDATE_OK && runs_image(blob));
}

static void nothing(void) {}
static void with_old(void) { settle(&old_image, 0); }
static void with_new(void) { settle(&old_image, 0), settle(&new_image, 0); }
/* Written by a programmer: there is an image, and no journal. */
static void programmed(void) { memcpy(nor, old_image.data, old_image.bytes); }

static void with_trial(void) {
    with_old();
    CHECK(install(&new_image, 0) == MOTE_UPDATE_OK && boot() == MOTE_UPDATE_OK && runs_image(&new_image));
}

static void with_half(void) {
    with_old();
    CHECK(send(&new_image, 0, new_image.bytes * 3 / 4) == MOTE_UPDATE_OK);
}

static void with_half_delta(void) {
    with_old();
    CHECK(send(&delta, 1, delta.bytes * 3 / 4) == MOTE_UPDATE_OK);
}

/* The firmware has been replaced by one that takes version 2 and later only. */
static void raise_floor(void) { settings.least_version = 2; }
static void old_below_floor(void) { with_old(), raise_floor(); }
static void fallback_below_floor(void) { with_trial(), raise_floor(); }
static void programmed_below_floor(void) { programmed(), raise_floor(); }
static void half_below_floor(void) { with_half(), raise_floor(); }
static void half_delta_below_floor(void) { with_half_delta(), raise_floor(); }

/* The same version in both slots, one of them on trial. */
static void both_below_floor(void) {
    with_old();
    CHECK(install(&old_image, 0) == MOTE_UPDATE_OK && boot() == MOTE_UPDATE_OK && runs_image(&old_image));
    raise_floor();
}

static void boot_and_confirm(void) {
    if (nor_dead || (boot() != MOTE_UPDATE_OK && nor_dead)) return;
    (void)mote_update_confirm(&update);
}

static void act_update(void) { (void)boot(), (void)install(&new_image, 0), boot_and_confirm(); }
static void act_first(void) { (void)boot(), (void)install(&old_image, 0), boot_and_confirm(); }
static void act_delta(void) { (void)boot(), (void)install(&delta, 1), boot_and_confirm(); }
static void act_boot(void) { (void)boot(); }
static void act_confirm(void) { (void)mote_update_confirm(&update); }
static void act_revert(void) { (void)mote_update_revert(&update); }

/* The new model never comes to confirm. */
static void act_failed_trial(void) {
    (void)boot(), (void)install(&new_image, 0);
    for (int boots = 0; boots <= settings.trials && !nor_dead; boots++) (void)boot();
    CHECK(nor_failed || (runs_image(&old_image) && update.record.rejected == 2));
}

/* The same, where the model before may not run. */
static void act_lose_all(void) {
    uint32_t bytes;
    mote_update_status status = MOTE_UPDATE_OK;
    for (int boots = 0; boots <= settings.trials && !nor_dead; boots++) status = boot();
    CHECK(nor_failed || (status == MOTE_UPDATE_NO_IMAGE && mote_update_image(&update, &bytes) == NULL));
}

static void act_rollback(void) {
    (void)boot();
    const mote_update_status status = install(&old_image, 0);
    CHECK(nor_failed || status == MOTE_UPDATE_OLD);
}

static void act_forged(void) {
    (void)boot();
    const mote_update_status status = install(&forged, 0);
    CHECK(nor_failed || status == MOTE_UPDATE_FORGED);
}

static void act_refused(void) {
    refuse = 1;
    (void)boot();
    const mote_update_status status = install(&new_image, 0);
    CHECK(nor_failed || status == MOTE_UPDATE_REFUSED);
    refuse = 0;
}

static void act_abort(void) {
    (void)boot(), (void)send(&new_image, 0, 700);
    (void)mote_update_abort(&update);
}

static void act_resume(void) {
    (void)boot();
    CHECK(update.record.position != 0); /* there is a mark to go on from, in every geometry */
    (void)install(&new_image, 0), boot_and_confirm();
}

static void act_resume_delta(void) { (void)boot(), (void)install(&delta, 1), boot_and_confirm(); }

/* Enough records to go round the journal, and both slots used twice. */
static void act_there_and_back(void) {
    for (int turn = 0; turn < 3 && !nor_dead; turn++) {
        (void)boot(), (void)install(&new_image, 0);
        boot_and_confirm();
    }
}

static const scenario_t scenarios[] = {
    {"first install", nothing, act_first, 1, 1, 0, 1, 0},
    {"update", with_old, act_update, 0, 1, 1, 0, 0},
    {"delta update", with_old, act_delta, 0, 1, 1, 0, 1},
    {"failed trial", with_old, act_failed_trial, 0, 1, 1, 0, 0},
    {"confirm", with_trial, act_confirm, 0, 1, 1, 0, 0},
    {"revert", with_trial, act_revert, 0, 1, 1, 0, 0},
    {"rollback attempt", with_new, act_rollback, 0, 0, 1, 0, 0},
    {"forged image", with_old, act_forged, 0, 1, 0, 0, 0},
    {"image that the firmware refuses", with_old, act_refused, 0, 1, 0, 0, 0},
    {"abort", with_old, act_abort, 0, 1, 0, 0, 0},
    {"resume", with_half, act_resume, 0, 1, 1, 0, 0},
    {"resume of a delta", with_half_delta, act_resume_delta, 0, 1, 1, 0, 1},
    {"first boot of a programmed part", programmed, act_boot, 0, 1, 0, 0, 0},
    {"many updates", with_old, act_there_and_back, 0, 1, 1, 0, 0},
    {"installed below the floor", old_below_floor, act_lose_all, 1, 0, 0, 0, 0},
    {"update of one below the floor", old_below_floor, act_update, 1, 0, 1, 0, 0},
    {"fallback below the floor", fallback_below_floor, act_lose_all, 1, 0, 1, 0, 0},
    {"revert to one below the floor", fallback_below_floor, act_revert, 1, 0, 1, 0, 0},
    {"both below the floor", both_below_floor, act_lose_all, 1, 0, 0, 0, 0},
    {"programmed below the floor", programmed_below_floor, act_lose_all, 1, 0, 0, 0, 0},
    {"resume with one below the floor", half_below_floor, act_resume, 1, 0, 1, 0, 0},
    {"resume of a delta to one below the floor", half_delta_below_floor, act_update, 1, 0, 1, 0, 1},
};

/* After a reset; `tried_again`: since the host has, the new model may be there as well. */
static void check_state(const scenario_t *s, int tried_again) {
    const mote_update_status status = boot();
    const int is_old = runs_image(&old_image), is_new = runs_image(&new_image);
    uint32_t bytes;
    if (nor_dead) return;
    CHECK(status == MOTE_UPDATE_OK || (status == MOTE_UPDATE_NO_IMAGE && s->may_be_none));
    CHECK((is_old && s->may_be_old) || (is_new && (s->may_be_new || tried_again)) ||
          (s->may_be_none && mote_update_image(&update, &bytes) == NULL));
    CHECK(update.record.counter >= highest && update.record.counter <= 2);
    highest = update.record.counter;
    /* Nothing older than the counter, which only confirming moves. */
    CHECK(!is_new || highest == 2 || update.record.state == MOTE_UPDATE_TRIAL || s->act == act_rollback);
    CHECK(!is_old || highest <= 1);
}

/* The host tries again until the device has what it is to have. Power may be cut once more on the way. */
static void bring_to_end(const scenario_t *s) {
    const blob_t *wanted = s->ends_old ? &old_image : &new_image;
    for (int turn = 0; turn < 6; turn++) {
        if (update.record.state == MOTE_UPDATE_TRIAL && update.record.tries != 0) (void)mote_update_confirm(&update);
        if (update.record.state == MOTE_UPDATE_IDLE && runs_image(wanted)) break;
        const int by_delta = s->is_delta && runs_image(&old_image);
        (void)install(by_delta ? &delta : wanted, by_delta);
        if (nor_dead) nor_power_on();
        check_state(s, 1);
    }
    CHECK(runs_image(wanted) && update.record.state == MOTE_UPDATE_IDLE);
    CHECK(update.record.counter == (s->ends_old ? 1 : 2));
}

static mote_update_t update_before;

static void rewind_to_before(const scenario_t *s, uint32_t cut, int tear, uint32_t prefix) {
    nor_restore(before);
    update = update_before;
    memset(buffer, 0x5a, sizeof buffer);
    nor_power_on();
    highest = s->prepare == with_new ? 2 : s->prepare == nothing || s->prepare == programmed || s->prepare == programmed_below_floor ? 0 : 1;
    nor_cut = cut_at = cut;
    nor_tear = tear;
    nor_prefix = prefix;
}

/* One cut; `second` (or UINT32_MAX): one more, so many operations later, while the device recovers. With `lasts` the
 * operation fails, and power does not. */
static void run_once(const scenario_t *s, uint32_t cut, int tear, uint32_t prefix, uint32_t second, int lasts) {
    rewind_to_before(s, cut, tear, prefix);
    nor_lasts = lasts;
    s->act();
    CHECK(nor_failed == (cut != UINT32_MAX));
    nor_lasts = 0;
    cuts += nor_failed != 0;
    nor_power_on();
    if (second != UINT32_MAX) {
        nor_cut = second;
        nor_tear = (int)(nor_random() % TEARS);
        nor_prefix = nor_random() % 600;
        (void)boot();
        if (!nor_dead) bring_to_end(s);
        cuts += nor_cut == UINT32_MAX || nor_dead;
        nor_power_on();
    }
    check_state(s, second != UINT32_MAX);
    bring_to_end(s);
    runs++;
}

static void explore(const scenario_t *s, const geometry_t *g) {
    scenario_name = s->name;
    geometry_name = g->name;
    set_up(g);
    nor_power_on();
    s->prepare();
    memcpy(before, nor, sizeof nor);
    update_before = update;
    memset(nor_erases, 0, sizeof nor_erases);
    nor_all_erases = nor_all_writes = nor_written_bytes = 0;
    rewind_to_before(s, UINT32_MAX, 0, 0);
    s->act();
    const uint32_t operations = nor_operations;
    uint32_t worst = 0;
    for (uint32_t i = 0; i < NOR_SECTORS; i++) worst = nor_erases[i] > worst ? nor_erases[i] : worst;
    printf("%s | %s | operations %u erases %u writes %u bytes %u worst %u\n", s->name, g->name, (unsigned)operations,
           (unsigned)nor_all_erases, (unsigned)nor_all_writes, (unsigned)nor_written_bytes, (unsigned)worst);
    run_once(s, UINT32_MAX, 0, 0, UINT32_MAX, 0);
    for (uint32_t cut = 0; cut < operations; cut++) {
        for (int tear = 0; tear < TEARS; tear++) run_once(s, cut, tear, nor_random() % 64, UINT32_MAX, 0);
        run_once(s, cut, (int)(nor_random() % TEARS), nor_random() % 64, UINT32_MAX, 1);
        const uint32_t bytes = nor_last_bytes;
        const uint32_t step = thorough ? 1 : bytes / 2 - 1;
        for (uint32_t prefix = 1; prefix < bytes; prefix += step) {
            run_once(s, cut, TEAR_PREFIX, prefix, UINT32_MAX, 0);
            run_once(s, cut, TEAR_GARBAGE, prefix, UINT32_MAX, 0);
        }
        for (uint32_t second = 0; second < (thorough ? 16u : 3u); second++) {
            run_once(s, cut, (int)(nor_random() % TEARS), nor_random() % 600, second, 0);
        }
    }
}

/* The numbers of records go round in every place of an update. */
static void check_numbers(void) {
    for (uint32_t number = 0xffffffffu; number > 0xfffffffau; number--) {
        set_up(&geometries[number % (sizeof geometries / sizeof geometries[0])]);
        nor_power_on();
        with_old();
        const uint32_t shift = number - update.record.sequence, unit = settings.flash.unit;
        for (uint32_t at = 0; at < settings.journal.bytes; at += unit > 64 ? unit : 64) {
            uint8_t *const record = nor + settings.journal.at + at;
            uint32_t words[16];
            memcpy(words, record, sizeof words);
            if (words[15] != mote_frame_crc(0, words, 60)) continue;
            words[0] += shift;
            words[15] = mote_frame_crc(0, words, 60);
            memcpy(record, words, sizeof words);
        }
        settle(&new_image, 0);
        CHECK(update.record.sequence < 64);
    }
}

/* Settings that contradict themselves are refused, whatever lies in flash. */
static void check_settings(void) {
    set_up(&geometries[0]);
    mote_update_settings_t wrong[12];
    for (int i = 0; i < 12; i++) wrong[i] = settings;
    wrong[0].flash.base = NULL;
    wrong[1].flash.erase = NULL;
    wrong[2].flash.unit = 3;
    wrong[3].flash.unit = 512;
    wrong[4].buffer = NULL;
    wrong[5].buffer_bytes = 128;
    wrong[6].buffer_bytes = 1024; /* more than a sector */
    wrong[7].slot[1].bytes = 4000;
    wrong[8].slot[0].at = 4;
    wrong[9].journal.bytes = 256; /* one sector */
    wrong[10].trials = 0;
    wrong[11].verify = NULL;
    for (int i = 0; i < 12; i++) {
        uint32_t bytes, position;
        mote_update_info_t info;
        CHECK(mote_update_boot(&update, &wrong[i]) == MOTE_UPDATE_SETTINGS);
        CHECK(mote_update_image(&update, &bytes) == NULL && mote_update_write(&update, keys, 1) == MOTE_UPDATE_STATE);
        CHECK(mote_update_begin(&update, 0, 1000, 0, &position) == MOTE_UPDATE_STATE);
        CHECK(mote_update_finish(&update) == MOTE_UPDATE_STATE && mote_update_abort(&update) == MOTE_UPDATE_STATE);
        CHECK(mote_update_confirm(&update) == MOTE_UPDATE_STATE && mote_update_revert(&update) == MOTE_UPDATE_STATE);
        mote_update_info(&update, &info);
        CHECK(info.bytes == 0);
    }
    CHECK(mote_update_boot(NULL, &settings) == MOTE_UPDATE_SETTINGS);
    CHECK(mote_update_boot(&update, NULL) == MOTE_UPDATE_SETTINGS);
}

static blob_t read_blob(const char *path) {
    FILE *file = fopen(path, "rb");
    blob_t blob = {malloc(65536), 0};
    if (file == NULL || blob.data == NULL) exit(2);
    blob.bytes = (uint32_t)fread(blob.data, 1, 65536, file);
    fclose(file);
    return blob;
}

int main(int count, char **paths) {
    if (count != 5 && count != 6) return 2;
    const int quick = count == 6 && strcmp(paths[5], "quick") == 0; /* no cuts */
    thorough = count == 6 && !quick;
    old_image = read_blob(paths[1]);
    new_image = read_blob(paths[2]);
    delta = read_blob(paths[3]);
    forged = read_blob(paths[4]);
    check_settings();
    check_numbers();
    for (size_t g = 0; g < sizeof geometries / sizeof geometries[0] && !quick; g++) {
        for (size_t s = 0; s < sizeof scenarios / sizeof scenarios[0]; s++) explore(&scenarios[s], &geometries[g]);
    }
    printf("runs %llu cuts %llu accepted %llu\n", (unsigned long long)runs, (unsigned long long)cuts,
           (unsigned long long)checks);
    free(old_image.data), free(new_image.data), free(delta.data), free(forged.data);
    return 0;
}
