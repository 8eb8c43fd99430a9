/* weights.c: what a model has learned survives power that fails at every single flash operation, and nothing else is taken
 * for it. The model is that of test_weights.py, as generated C or, with AUTHENTIC, as an image whose records have MACs. */
#include "net.h"

#include "mote_crc.h"
#include "mote_weights.h"
#include "nor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDS = 9, HEAD = 16 };

#ifdef AUTHENTIC
#define TAKEN MOTE_BAD_STATE /* what nobody with the key has written */
#else
#define TAKEN MOTE_OK
#endif

typedef struct {
    uint32_t unit, sector, sectors;
    int corrects; /* with error correction */
} geometry_t;

static const geometry_t geometries[] = {
    {1, 256, 8, 0},    /* a record takes several sectors */
    {8, 512, 6, 1},    /* with error correction */
    {32, 2048, 2, 1},  /* several records in a sector */
    {256, 1024, 3, 0}, /* pages that are written once */
    {4, 2048, 3, 0},
};

#ifndef GEOMETRIES
#define GEOMETRIES (sizeof geometries / sizeof *geometries) /* so many of them, from the second one on */
#endif

static uint8_t learned[RECORDS][NET_WEIGHTS_BYTES], now[NET_WEIGHTS_BYTES], bad[NET_WEIGHTS_BYTES + 1];
static uint8_t buffer[MOTE_RECORDS_BUFFER], before[NOR_BYTES];
static mote_flash_t flash;
static mote_records_t records;
static uint32_t geometry, cut_at, cuts, loads;

void fail(const char *what, const char *file, int line) {
    printf("%s:%d: %s: geometry %u, operation %u torn as %d (%u)\n", file, line, what, (unsigned)geometry,
           (unsigned)cut_at, nor_tear, (unsigned)nor_prefix);
    exit(1);
}

static void set_up(const geometry_t *g) {
    nor_corrects = g->corrects;
    memset(before, 0xff, sizeof before);
    nor_restore(before);
    nor_power_on();
    nor_unit = g->unit;
    flash = (mote_flash_t){nor, g->unit, nor_erase, nor_write, g->corrects ? nor_read : NULL, NULL};
    records = (mote_records_t){&flash, {1024, g->sectors * g->sector, g->sector}, buffer};
}

/* A sample of each learner. */
static void learn(int number) {
    for (int i = 0; i < NET_INPUT_0_SIZE; i++) net_input_0()[i] = (int8_t)(i * 31 + number * 57);
    for (int i = 0; i < NET_INPUT_2_SIZE; i++) net_input_2()[i] = (int8_t)(i * 13 + number * 91);
    for (int i = 0; i < NET_INPUT_4_SIZE; i++) net_input_4()[i] = (float)(i + number) / 8;
    *net_input_1() = *net_input_3() = *net_input_5() = number % 3;
    CHECK(net_run() == MOTE_OK);
}

/* A number, as the rest of a record does not have it. */
static const uint8_t *exported(void) {
    CHECK(net_export_weights(now, sizeof now) == MOTE_OK);
    return now;
}

static int holds(const uint8_t *record) { return memcmp(exported(), record, sizeof now) == 0; }

/* The model forgets everything, as in a reset. */
static mote_status restart(void) {
    memset(buffer, 0xa5, sizeof buffer);
    CHECK(net_init() == MOTE_OK);
    loads++;
    return net_load_weights(&records);
}

static void saves(const uint8_t *record) {
    CHECK(net_import_weights(record, NET_WEIGHTS_BYTES) == MOTE_OK);
    CHECK(net_save_weights(&records) == MOTE_OK);
}

/* A save that power fails in, after `count` others. */
static void cut_save(uint32_t count, uint32_t operation, int tear, uint32_t prefix, int lasts) {
    const uint8_t *const old = learned[count], *const new = learned[count + 1];
    nor_restore(before);
    nor_power_on();
    cut_at = nor_cut = operation;
    nor_tear = tear;
    nor_prefix = prefix;
    nor_lasts = lasts;
    CHECK(net_import_weights(new, NET_WEIGHTS_BYTES) == MOTE_OK);
    CHECK(net_save_weights(&records) == MOTE_BAD_FLASH && nor_failed);
    CHECK(holds(new)); /* the model itself goes on */
    nor_power_on();
    cuts++;
    const mote_status status = restart();
    if (count == 0 && status != MOTE_OK) {
        CHECK(status == MOTE_BAD_STATE && holds(learned[0]));
    } else {
        CHECK(status == MOTE_OK && (holds(old) || holds(new)));
    }
    CHECK(net_import_weights(new, NET_WEIGHTS_BYTES) == MOTE_OK);
    mote_status again = net_save_weights(&records);
    if (again != MOTE_OK) again = net_save_weights(&records); /* sectors whose erasure failed are erased again */
    CHECK(again == MOTE_OK && restart() == MOTE_OK && holds(new));
}

static void check_power(uint32_t count) {
    memcpy(before, nor, sizeof before);
    nor_power_on();
    saves(learned[count + 1]);
    const uint32_t operations = nor_operations;
    for (uint32_t operation = 0; operation < operations; operation++) {
        for (int tear = 0; tear < TEARS; tear++) {
            static const uint32_t prefixes[] = {4, 115, 300, 0, 1, 7, 60, 128, 252, 255, 511};
            const uint32_t some = tear < TEAR_PREFIX ? 1 : sizeof prefixes / sizeof *prefixes;
            for (uint32_t i = 0; i < some; i++) cut_save(count, operation, tear, prefixes[i], 0);
        }
        cut_save(count, operation, TEAR_NOTHING, 0, 1);
        cut_save(count, operation, TEAR_BITS, 0, 1);
    }
    nor_restore(before);
    nor_power_on();
    nor_lasts = 0;
    saves(learned[count + 1]);
}

/* Every bit of the newest record: the one before is taken, or nothing. */
static void check_flips(void) {
    for (uint32_t first = 0; first < 2; first++) {
        set_up(&geometries[0]);
        if (first == 0) saves(learned[1]);
        const uint32_t one = (NET_WEIGHTS_BYTES + 255) / 256 * 256, at = 1024 + (first == 0 ? one : 0);
        saves(learned[2]);
        for (uint32_t bit = 0; bit < 8 * NET_WEIGHTS_BYTES; bit++) {
            nor[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
            const mote_status status = restart();
            CHECK(first == 0 ? status == MOTE_OK && holds(learned[1]) : status == MOTE_BAD_STATE && holds(learned[0]));
            nor[at + bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        CHECK(restart() == MOTE_OK && holds(learned[2]));
    }
}

static void word_to(uint8_t *to, uint32_t word) { memcpy(to, &word, sizeof word); }

/* A record with a word replaced, and a CRC-32 that is right. */
static mote_status forged(uint32_t at, const void *value, size_t bytes) {
    memcpy(bad, learned[3], NET_WEIGHTS_BYTES);
    memcpy(bad + at, value, bytes);
    word_to(bad + NET_WEIGHTS_BYTES - 4, mote_crc(0, bad, NET_WEIGHTS_BYTES - 4, 1));
    const mote_status status = net_import_weights(bad, NET_WEIGHTS_BYTES);
    if (status == MOTE_OK) {
        learn(5); /* sanitizers watch */
    } else {
        CHECK(status == MOTE_BAD_STATE && holds(learned[4]));
        word_to(bad, 77); /* in flash as well, where it would be the newest */
        word_to(bad + NET_WEIGHTS_BYTES - 4, mote_crc(0, bad, NET_WEIGHTS_BYTES - 4, 1));
        set_up(&geometries[0]);
        saves(learned[1]);
        memcpy(nor + 1024 + (NET_WEIGHTS_BYTES + 255) / 256 * 256, bad, NET_WEIGHTS_BYTES);
        CHECK(restart() == MOTE_OK && holds(learned[1]));
        saves(learned[2]);
        CHECK(restart() == MOTE_OK && holds(learned[2]));
    }
    CHECK(net_import_weights(learned[4], NET_WEIGHTS_BYTES) == MOTE_OK);
    return status;
}

static void check_forgeries(void) {
    const uint32_t infinite = 0x7f800000, no_number = 0xffc00000, large = 0x7f7fffff;
    const int32_t less = -1, most = INT32_MAX, place = PLACES, last = PLACES - 1;
    const int8_t class_behind = 3, none = -1;
    uint32_t word;
    CHECK(net_import_weights(learned[4], NET_WEIGHTS_BYTES) == MOTE_OK);
    for (uint32_t at = 4; at < HEAD; at += 4) { /* version, model, bytes */
        memcpy(&word, learned[3] + at, sizeof word);
        word++;
        CHECK(forged(at, &word, sizeof word) == MOTE_BAD_STATE);
    }
    CHECK(forged(HEAD + FLOATS, &infinite, 4) == MOTE_BAD_STATE && forged(HEAD + FLOATS, &no_number, 4) == MOTE_BAD_STATE);
    CHECK(forged(HEAD + FLOATS_END - 4, &no_number, 4) == MOTE_BAD_STATE && forged(HEAD + FLOATS, &large, 4) == TAKEN);
    CHECK(forged(HEAD + COUNTS, &less, 4) == MOTE_BAD_STATE && forged(HEAD + COUNTS, &most, 4) == MOTE_BAD_STATE);
    CHECK(forged(HEAD + PLACE, &less, 4) == MOTE_BAD_STATE && forged(HEAD + PLACE, &place, 4) == MOTE_BAD_STATE);
    CHECK(forged(HEAD + PLACE, &last, 4) == TAKEN);
    CHECK(forged(HEAD + LABELS, &class_behind, 1) == MOTE_BAD_STATE && forged(HEAD + LABELS, &none, 1) == TAKEN);
}

#ifdef AUTHENTIC
enum { FIRST = 1024, APART = (NET_WEIGHTS_BYTES + 255) / 256 * 256, SECOND = FIRST + APART };

static uint32_t honest; /* reads after which flash that lies gives other bytes */

static int sly_read(void *context, uint32_t at, uint8_t *data, uint32_t bytes) {
    (void)context;
    memcpy(data, nor + at, bytes);
    if (honest > 0) {
        honest--;
    } else if (at + bytes > SECOND + HEAD && at < SECOND + NET_WEIGHTS_BYTES) {
        data[0] ^= 1;
    }
    return 0;
}

static int failing_end(void *context, uint8_t *mac) {
    (void)context;
    memset(mac, 0, MOTE_MAC_BYTES);
    return 1;
}

/* Two records, the second of which is in the way of somebody. */
static void two_records(void) {
    set_up(&geometries[0]);
    saves(learned[1]);
    saves(learned[2]);
}

/* Every bit of the newest record with a CRC-32 that is right. */
static void check_bits(void) {
    two_records();
    for (uint32_t bit = 0; bit < 8 * (NET_WEIGHTS_BYTES - 4); bit++) {
        nor[SECOND + bit / 8] ^= (uint8_t)(1 << bit % 8);
        word_to(nor + SECOND + NET_WEIGHTS_BYTES - 4, mote_crc(0, nor + SECOND, NET_WEIGHTS_BYTES - 4, 1));
        CHECK(restart() == MOTE_OK && holds(learned[1]) && net_saved_weights(&records) == 1);
        nor[SECOND + bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    word_to(nor + SECOND + NET_WEIGHTS_BYTES - 4, mote_crc(0, nor + SECOND, NET_WEIGHTS_BYTES - 4, 1));
    CHECK(restart() == MOTE_OK && holds(learned[2]));
}

/* Another key, another image, no key, no MAC. */
static void check_keys(void) {
    mote_mac_t failing = *net_mac;
    const mote_mac_t *const mac = net_mac;
    two_records();
    net_key[31] ^= 1;
    CHECK(restart() == MOTE_BAD_STATE && net_saved_weights(&records) == 0);
    CHECK(net_import_weights(learned[1], NET_WEIGHTS_BYTES) == MOTE_BAD_STATE);
    net_key[31] ^= 1;
    net_other = 1;
    CHECK(restart() == MOTE_BAD_STATE && net_import_weights(learned[1], NET_WEIGHTS_BYTES) == MOTE_BAD_STATE);
    learn(3);
    memcpy(bad, exported(), NET_WEIGHTS_BYTES);
    CHECK(net_save_weights(&records) == MOTE_OK && net_saved_weights(&records) == 3); /* behind those of the other */
    net_other = 0;
    CHECK(restart() == MOTE_OK && holds(learned[2]) && net_saved_weights(&records) == 2);
    net_other = 1;
    CHECK(restart() == MOTE_OK && holds(bad));
    net_other = 0;
    CHECK(restart() == MOTE_OK);
    failing.end = failing_end;
    for (int i = 0; i < 2; i++) {
        net_mac = i == 0 ? NULL : &failing;
        CHECK(net_save_weights(&records) == (i == 0 ? MOTE_BAD_STATE : MOTE_BAD_FLASH));
        CHECK(net_load_weights(&records) == MOTE_BAD_STATE && net_saved_weights(&records) == 0);
        CHECK(net_import_weights(learned[1], NET_WEIGHTS_BYTES) == MOTE_BAD_STATE);
        CHECK(net_export_weights(bad, NET_WEIGHTS_BYTES) == (i == 0 ? MOTE_BAD_STATE : MOTE_FAILED));
    }
    net_mac = mac;
    CHECK(holds(learned[2]) && restart() == MOTE_OK && holds(learned[2]));
}

/* Flash from which a check reads other bytes than what is loaded after it; an old record behind the newest one. */
static void check_lies(void) {
    uint32_t reads = 0, caught = 0;
    two_records();
    flash.read = sly_read;
    do { /* longer each time, until it lies no more */
        honest = ++reads;
        const mote_status status = restart();
        CHECK(status == MOTE_OK ? holds(learned[2]) || holds(learned[1]) : status == MOTE_BAD_FLASH && holds(learned[0]));
        caught += status == MOTE_BAD_FLASH;
    } while (honest == 0);
    CHECK(reads > 50 && caught > 5);
    flash.read = NULL;
    memcpy(nor + SECOND + APART, nor + FIRST, NET_WEIGHTS_BYTES);
    CHECK(restart() == MOTE_OK && holds(learned[2]));
    word_to(nor + FIRST, 0xfffffffeu); /* numbers of records that nobody vouches for do not count */
    word_to(nor + FIRST + NET_WEIGHTS_BYTES - 4, mote_crc(0, nor + FIRST, NET_WEIGHTS_BYTES - 4, 1));
    for (uint32_t i = 3; i < 6; i++) CHECK(net_save_weights(&records) == MOTE_OK && net_saved_weights(&records) == i);
}
#endif

static void check_misuse(void) {
    mote_records_t none = records;
    mote_flash_t no_driver = flash;
    set_up(&geometries[4]);
    CHECK(net_save_weights(NULL) == MOTE_BAD_FLASH && net_load_weights(NULL) == MOTE_BAD_FLASH);
    CHECK(net_saved_weights(NULL) == 0 && net_saved_weights(&records) == 0);
    none = records;
    none.area.bytes = none.area.sector; /* one block does not hold two records */
    CHECK(net_save_weights(&none) == MOTE_BAD_FLASH && nor_operations == 0);
    none = records;
    none.flash = &no_driver;
    no_driver = flash;
    no_driver.unit = 24;
    CHECK(net_save_weights(&none) == MOTE_BAD_FLASH);
    no_driver = flash;
    no_driver.write = NULL;
    CHECK(net_save_weights(&none) == MOTE_BAD_FLASH && net_load_weights(&none) == MOTE_BAD_FLASH && nor_operations == 0);
    none = records;
    none.buffer = NULL;
    CHECK(net_save_weights(&none) == MOTE_BAD_FLASH);
    CHECK(net_export_weights(bad, NET_WEIGHTS_BYTES - 1) == MOTE_BAD_STATE);
    CHECK(net_export_weights(NULL, sizeof bad) == MOTE_BAD_STATE && net_import_weights(NULL, 9) == MOTE_BAD_STATE);
    CHECK(net_import_weights(learned[1], NET_WEIGHTS_BYTES - 1) == MOTE_BAD_STATE);
    CHECK(net_step() == MOTE_BUSY && net_save_weights(&records) == MOTE_BUSY && net_load_weights(&records) == MOTE_BUSY);
    CHECK(net_export_weights(bad, sizeof bad) == MOTE_BUSY && net_import_weights(bad, sizeof bad) == MOTE_BUSY);
    CHECK(net_run() == MOTE_OK);
}

#ifndef AUTHENTIC
/* A record whose number is among the last that there are: those that come behind go round, and are the newest. */
static void check_numbers(void) {
    set_up(&geometries[2]);
    saves(learned[1]);
    for (uint32_t last = 0xfffffff0u; last != 0; last++) {
        word_to(nor + 1024, last);
        word_to(nor + 1024 + NET_WEIGHTS_BYTES - 4, mote_crc(0, nor + 1024, NET_WEIGHTS_BYTES - 4, 1));
        memset(nor + 1024 + 2048, 0xff, 2048);
        memset(nor + 1024 + (NET_WEIGHTS_BYTES + 31) / 32 * 32, 0xff, 1024);
        for (uint32_t i = 2; i < 5; i++) {
            saves(learned[i]);
            CHECK(restart() == MOTE_OK && holds(learned[i]));
        }
    }
}

enum { MODELS = 4 };

static uint8_t values[MODELS][1500];

/* Saves of models whose records have other lengths, beside those of net, which is the last one: each finds its newest
 * record, whatever the others have saved. */
static void check_neighbours(uint32_t unit, uint32_t sector, uint32_t sectors, const uint32_t *lengths, uint32_t models) {
    const geometry_t g = {unit, sector, sectors, 0};
    uint32_t newest = 0;
    set_up(&g);
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t one = i < models ? i : nor_random() % models;
        if (one + 1 == models) {
            newest = 1 + nor_random() % (RECORDS - 1);
            saves(learned[newest]);
        } else {
            values[one][0]++;
        }
        for (uint32_t m = 0; m < models && m <= i; m++) {
            const mote_weights_part_t part = {0, lengths[m], 0, 0, MOTE_WEIGHTS_ANY};
            const mote_weights_t own = {1000 + m, 20 + (lengths[m] + 3) / 4 * 4, &part, 1, NULL};
            uint8_t found[sizeof *values];
            if (m + 1 == models) {
                CHECK(restart() == MOTE_OK && holds(learned[newest]));
                continue;
            }
            CHECK(mote_records_fit(&records, own.bytes) && (m != one || mote_weights_save(&own, &records, values[m])));
            const mote_weights_found_t last = mote_weights_find(&own, &records);
            CHECK(last.own != UINT32_MAX);
            CHECK(mote_weights_take(&own, &flash, mote_record_at(&records, own.bytes, last.own), found));
            CHECK(memcmp(found, values[m], lengths[m]) == 0);
        }
    }
}

static void check_all_neighbours(void) {
    static const uint32_t lengths[][MODELS] = {{8}, {900}, {600, 345}, {1300, 77, 401}};
    check_neighbours(1, 256, 6, lengths[0], 2);
    check_neighbours(8, 512, 3, lengths[0], 2);
    check_neighbours(1, 256, 16, lengths[1], 2); /* four of the longest, where lengths in sectors differ */
    check_neighbours(32, 1024, 3, lengths[1], 2);
    check_neighbours(256, 512, 12, lengths[2], 3);
    check_neighbours(4, 2048, 5, lengths[3], 4);
}
#endif

/* No sector is erased more often than others, nor than the page says. */
static void check_wear(void) {
    set_up(&geometries[2]);
    const uint32_t each = 2048 / ((NET_WEIGHTS_BYTES + 31) / 32 * 32), rounds = 5;
    memset(nor_erases, 0, sizeof nor_erases);
    for (uint32_t i = 0; i < 2 * each * rounds; i++) saves(learned[1 + i % 5]);
    CHECK(each > 1 && nor_erases[1024 / 256] == rounds && nor_erases[(1024 + 2048) / 256] == rounds);
    CHECK(net_saved_weights(&records) == 2 * each * rounds);
}

int main(void) {
    CHECK(net_save_weights(&records) == MOTE_NOT_READY && net_load_weights(&records) == MOTE_NOT_READY);
    CHECK(net_export_weights(now, sizeof now) == MOTE_NOT_READY && net_import_weights(now, sizeof now) == MOTE_NOT_READY);
    CHECK(net_init() == MOTE_OK);
    for (int i = 0; i < RECORDS; i++) {
        memcpy(learned[i], exported(), sizeof now);
        CHECK(i == 0 || memcmp(learned[i], learned[i - 1], sizeof now) != 0);
        learn(i);
    }
    for (uint32_t i = 0; i < GEOMETRIES; i++) {
        geometry = (i + 1) % (sizeof geometries / sizeof *geometries);
        set_up(&geometries[geometry]);
        CHECK(restart() == MOTE_BAD_STATE && holds(learned[0]));
        for (uint32_t count = 0; count + 1 < RECORDS; count++) {
            check_power(count);
            CHECK(restart() == MOTE_OK && holds(learned[count + 1]) && net_saved_weights(&records) == count + 1);
        }
    }
    geometry = cut_at = 99;
    check_flips();
    check_forgeries();
#ifdef AUTHENTIC
    check_bits();
    check_keys();
    check_lies();
#else
    check_numbers();
    check_all_neighbours();
#endif
    check_misuse();
    check_wear();
    printf("cuts %u loads %u\n", (unsigned)cuts, (unsigned)loads);
    return 0;
}
