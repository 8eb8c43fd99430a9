/* fuzz_update.c: whatever comes in a stream, a delta, a frame or lies in flash at a boot, nothing outside of the slot
 * that is being filled and of the journal changes, and nothing crashes. A target for libFuzzer; with -DSTANDALONE a
 * program that makes its own inputs, the same ones each time: fuzz_update IMAGE DELTA COUNT, mutants of an image and
 * of a delta to the installed one among them. */
#include "mote_update_parts.h"
#include "mote_ota.h"
#include "nor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT = 4096, JOURNAL = 2 * SLOT, SECTOR = 512, RECORD = 64 };

static mote_update_t update;
static mote_update_settings_t settings;
static uint8_t buffer[256], frame[160], image[1024];
static uint64_t accepted, answered;

void fail(const char *what, const char *file, int line) {
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    abort();
}

static void send(void *context, const uint8_t *data, uint32_t bytes) {
    (void)context;
    (void)data;
    answered += bytes != 0;
}

static void set_up(void) {
    static const mote_update_settings_t blank;
    settings = blank;
    nor_unit = 8;
    nor_power_on();
    settings.flash.base = nor;
    settings.flash.unit = nor_unit;
    settings.flash.erase = nor_erase;
    settings.flash.write = nor_write;
    settings.slot[0] = (mote_area_t){0, SLOT, SECTOR};
    settings.slot[1] = (mote_area_t){SLOT, SLOT, SECTOR};
    settings.journal = (mote_area_t){JOURNAL, 2 * SECTOR, SECTOR};
    settings.buffer = buffer;
    settings.buffer_bytes = sizeof buffer;
    settings.trials = 2;
}

static void word_to(uint8_t *to, uint32_t word) { memcpy(to, &word, sizeof word); }

/* A small image that is installed, so that deltas have something to copy from. */
static void install(void) {
    memset(nor, 0xff, sizeof nor);
    for (uint32_t i = 0; i < sizeof image; i++) image[i] = (uint8_t)(i * 7 ^ i >> 3);
    word_to(image, 0x45544f4d);
    word_to(image + 4, 1 | 192 << 16);
    word_to(image + 8, sizeof image);
    word_to(image + 16, 3);
    word_to(image + 20, 0);
    word_to(image + 12, mote_frame_crc(0, image + 16, sizeof image - 16));
    memcpy(nor, image, sizeof image);
    CHECK(mote_update_boot(&update, &settings) == MOTE_UPDATE_OK);
}

/* What is installed is what it was. */
static void check_installed(void) {
    uint32_t bytes;
    CHECK(memcmp(nor, image, sizeof image) == 0 && update.record.counter >= 3);
    CHECK(mote_update_boot(&update, &settings) == MOTE_UPDATE_OK && mote_update_image(&update, &bytes) != NULL);
}

/* A stream in pieces: as it is, or with a sum that is right. */
static void fuzz_stream(const uint8_t *data, uint32_t bytes, int is_delta, uint32_t piece) {
    uint32_t position;
    install();
    if (mote_update_begin(&update, is_delta, bytes, mote_frame_crc(0, data, bytes), &position) == MOTE_UPDATE_OK) {
        while (position < bytes && update.record.state == MOTE_UPDATE_RECEIVING) {
            const uint32_t some = piece < bytes - position ? piece : bytes - position;
            (void)mote_update_write(&update, data + position, some);
            position += some;
        }
        accepted += mote_update_finish(&update) == MOTE_UPDATE_OK;
    }
    check_installed();
}

/* Flash as it may never be, the sums of its records right, so that what they say is believed; then an update. */
static void fuzz_flash(const uint8_t *data, uint32_t bytes, uint32_t kind) {
    memset(nor, 0xff, sizeof nor);
    if (kind & 1) install();
    for (uint32_t i = 0; i < 2 * SECTOR && i < bytes; i++) nor[JOURNAL + i] = data[i];
    for (uint32_t at = JOURNAL; (kind & 2) && at < JOURNAL + 2 * SECTOR; at += RECORD) {
        nor[at + 4] = 1;
        nor[at + 5] &= 3;
        if (kind & 4) nor[at + 6] &= 1;
        word_to(nor + at + RECORD - 4, mote_frame_crc(0, nor + at, RECORD - 4));
    }
    const uint32_t rest = bytes > 2 * SECTOR ? bytes - 2 * SECTOR : 0;
    memcpy(nor + ((kind & 8) ? SLOT : 0), data + bytes - rest, rest < SLOT ? rest : SLOT);
    (void)mote_update_boot(&update, &settings);
    (void)mote_update_write(&update, data, bytes < 700 ? bytes : 700);
    (void)mote_update_finish(&update);
    (void)mote_update_confirm(&update);
    const uint32_t crc = mote_frame_crc(0, image, sizeof image);
    uint32_t position;
    if (mote_update_begin(&update, (kind & 16) != 0, sizeof image, crc, &position) == MOTE_UPDATE_OK) {
        (void)mote_update_write(&update, image + position, (uint32_t)sizeof image - position);
        accepted += mote_update_finish(&update) == MOTE_UPDATE_OK;
    }
    (void)mote_update_boot(&update, &settings);
}

static void restart(void *context) { (void)mote_update_boot(context, &settings); }

/* Frames: raw, or each with a sum that is right. The first byte of each says how long it is. */
static void fuzz_frames(const uint8_t *data, uint32_t bytes, int is_raw) {
    install();
    mote_ota_t ota = {
        .update = &update, .send = send, .restart = restart, .context = &update, .frame = frame,
        .frame_bytes = sizeof frame, .may_confirm = 1,
    };
    mote_ota_reset(&ota);
    if (is_raw) mote_ota_receive(&ota, data, bytes);
    while (!is_raw && bytes > 1) {
        uint8_t message[64];
        const uint32_t some = data[0] % 60u < bytes - 1 ? data[0] % 60u : bytes - 1;
        memcpy(message, data + 1, some);
        word_to(message + some, mote_frame_crc(0, message, some));
        mote_ota_receive(&ota, (const uint8_t *)"\x7e", 1);
        for (uint32_t i = 0; i < some + 4; i++) {
            const int stuffed = message[i] == 0x7e || message[i] == 0x7d;
            const uint8_t two[2] = {0x7d, (uint8_t)(message[i] ^ 0x20)};
            mote_ota_receive(&ota, stuffed ? two : &message[i], stuffed ? 2 : 1);
        }
        mote_ota_receive(&ota, (const uint8_t *)"\x7e", 1);
        data += 1 + some;
        bytes -= 1 + some;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    const uint32_t bytes = (uint32_t)size - 2;
    set_up();
    switch (data[0] % 5) {
    case 0: fuzz_stream(data + 2, bytes, 0, data[1] + 1u); break;
    case 1: fuzz_stream(data + 2, bytes, 1, data[1] + 1u); break;
    case 2: fuzz_flash(data + 2, bytes, data[1]); break;
    case 3: fuzz_frames(data + 2, bytes, 1); break;
    default: fuzz_frames(data + 2, bytes, 0); break;
    }
    return 0;
}

#ifdef STANDALONE
static uint8_t input[6000], seeds[4][3000];
static uint32_t seed_bytes[4];

/* A word that frames, deltas or records make sense of, now and then. */
static uint8_t likely(void) {
    static const uint8_t bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 12, 0x7e, 0x7d, 0x80, 0xff, 192, 24, 16};
    return (nor_random() & 3) != 0 ? bytes[nor_random() % sizeof bytes] : (uint8_t)nor_random();
}

static uint32_t make(uint32_t turn) {
    const uint32_t kind = turn % 5;
    uint32_t bytes = 2 + nor_random() % 2500;
    for (uint32_t i = 2; i < bytes; i++) input[i] = likely();
    if (kind < 2) { /* mutants of a stream that is right */
        const uint8_t *seed = seeds[kind];
        bytes = 2 + seed_bytes[kind];
        memcpy(input + 2, seed, seed_bytes[kind]);
        for (uint32_t n = nor_random() % 4; n != 0; n--) input[2 + nor_random() % seed_bytes[kind]] = likely();
        if (nor_random() % 4 == 0) bytes = 2 + nor_random() % seed_bytes[kind];
    }
    input[0] = (uint8_t)kind;
    input[1] = (uint8_t)nor_random();
    return bytes;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(arguments[1 + i], "rb");
        if (file == NULL) return 2;
        seed_bytes[i] = (uint32_t)fread(seeds[i], 1, sizeof seeds[i], file);
        fclose(file);
    }
    for (uint32_t turn = 0; turn < (uint32_t)atoi(arguments[3]); turn++) {
        (void)LLVMFuzzerTestOneInput(input, make(turn));
        nor_seed = turn + 1;
    }
    printf("accepted %llu answered %llu\n", (unsigned long long)accepted, (unsigned long long)answered);
    return 0;
}
#endif
