/* Words of a user's own: a keyword spotter that hears some clips of each, learns them, and knows them after a reset.
 *
 * The board MPS2 AN386 (Cortex-M4) in QEMU plays the device. RAM that a reset leaves alone plays its flash: on a part,
 * erase_flash and write_flash are those of the flash controller, and the rest stays as it is. */
#include <stdio.h>
#include <string.h>

#include "clips.h"
#include "words.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define RESET_CONTROL 0xe000ed0cu

enum { SECTOR = 4096, UNIT = 8 };

static uint8_t *const memory = (uint8_t *)0x21000000u;
static uint8_t buffer[MOTE_RECORDS_BUFFER];

static int erase_flash(void *context, uint32_t at, uint32_t bytes)
{
    (void)context;
    memset(memory + at, 0xff, bytes);
    return 0;
}

static int write_flash(void *context, uint32_t at, const uint8_t *data, uint32_t bytes)
{
    (void)context;
    for (uint32_t i = 0; i < bytes; i++) {
        memory[at + i] &= data[i];
    }
    return 0;
}

static const mote_flash_t flash = {
    .base = (const uint8_t *)0x21000000u, .unit = UNIT, .erase = erase_flash, .write = write_flash};
static const mote_records_t records = {&flash, {0, 2 * SECTOR, SECTOR}, buffer};

static void hear(const int8_t *clip)
{
    memcpy(words_input(), clip, WORDS_INPUT_BYTES);
}

/* Learn the clips that come first, each once, and save what was learned. */
static int learn(void)
{
    words_train_begin();
    for (int i = 0; i < LEARNED; i++) {
        hear(clips[i]);
        if (words_train(i % WORDS_TRAIN_CLASSES) != MOTE_OK) {
            return 0;
        }
        printf("learned word %d, clip %d\n", i % WORDS_TRAIN_CLASSES, (int)words_learned_samples());
    }
    return words_train_end() == MOTE_OK && words_save_weights(&records) == MOTE_OK;
}

/* Print the scores of all other clips. */
static int recognise(void)
{
    for (int i = LEARNED; i < CLIPS; i++) {
        hear(clips[i]);
        if (words_run() != MOTE_OK) {
            return 0;
        }
        printf("heard");
        for (int k = 0; k < WORDS_OUTPUT_SIZE; k++) {
            printf(" %d", (int)words_output()[k]);
        }
        printf("\n");
    }
    return 1;
}

int main(void)
{
    if (words_init() != MOTE_OK) {
        return 1;
    }
    if (words_load_weights(&records) == MOTE_OK) {
        printf("loaded %d bytes\n", WORDS_WEIGHTS_BYTES);
        return recognise() ? 0 : 1;
    }
    if (!learn()) {
        return 1;
    }
    printf("saved %d bytes\n", WORDS_WEIGHTS_BYTES);
    REGISTER(RESET_CONTROL) = 0x05fa0004u;
    for (;;) {
    }
}
