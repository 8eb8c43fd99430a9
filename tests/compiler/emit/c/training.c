/* training.c: three models learn by their functions: a classifier, one with a label for each position, and a learner
 * without gradients. The models and the samples are those of test_training.py. */
#include "dots.h"
#include "net.h"
#include "seen.h"

#include "samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(fact) ((fact) ? (void)0 : fail(#fact, __LINE__))

static uint8_t shipped[NET_WEIGHTS_BYTES], learned[NET_WEIGHTS_BYTES], now[NET_WEIGHTS_BYTES];
static uint8_t nor[4096], buffer[MOTE_RECORDS_BUFFER];

static void fail(const char *fact, int line) {
    printf("line %d: %s\n", line, fact);
    exit(1);
}

static int erase(void *context, uint32_t at, uint32_t bytes) {
    (void)context;
    memset(nor + at, 0xff, bytes);
    return 0;
}

static int write(void *context, uint32_t at, const uint8_t *data, uint32_t bytes) {
    (void)context;
    memcpy(nor + at, data, bytes);
    return 0;
}

static const mote_flash_t flash = {nor, 8, erase, write, NULL, NULL};
static const mote_records_t records = {&flash, {0, sizeof nor, 1024}, buffer};

static int holds(const uint8_t *record) {
    CHECK(net_export_weights(now, sizeof now) == MOTE_OK);
    return memcmp(now, record, sizeof now) == 0;
}

static void fill(int sample) { memcpy(net_input(), net_samples[sample], NET_INPUT_BYTES); }

/* A session: the loss of every step. */
static void session(float *losses) {
    CHECK(net_train_begin(NET_RATE) == MOTE_OK && net_loss() == 0.0f);
    for (int i = 0; i < SAMPLES; i++) {
        fill(i);
        CHECK(net_train(net_labels[i]) == MOTE_OK);
        losses[i] = net_loss();
    }
    CHECK(net_train_end() == MOTE_OK);
}

static void check_misuse(void) {
    fill(0);
    CHECK(net_train_begin(0.0f) == MOTE_BAD_STATE && net_train_begin(-1.0f) == MOTE_BAD_STATE);
    CHECK(net_train_begin(INFINITY) == MOTE_BAD_STATE && net_train_begin(NAN) == MOTE_BAD_STATE);
    CHECK(net_train(-1) == MOTE_BAD_STATE && net_train(NET_TRAIN_CLASSES) == MOTE_BAD_STATE);
    CHECK(net_train(INT32_MIN) == MOTE_BAD_STATE && net_train(INT32_MAX) == MOTE_BAD_STATE);
    CHECK(net_step() == MOTE_BUSY && net_train_begin(1.0f) == MOTE_BUSY);
    CHECK(net_train(0) == MOTE_BUSY && net_train_end() == MOTE_BUSY);
    CHECK(net_run() == MOTE_OK && holds(shipped));
}

static void check_classifier(void) {
    static float first[SAMPLES], again[SAMPLES];
    CHECK(net_export_weights(shipped, sizeof shipped) == MOTE_OK);
    check_misuse();
    session(first);
    CHECK(!holds(shipped) && net_save_weights(&records) == MOTE_OK);
    memcpy(learned, now, sizeof learned);
    for (int i = 0; i < SAMPLES; i++) {
        fill(i);
        CHECK(net_run() == MOTE_OK && holds(learned)); /* without a label it never learns */
        printf("net %.9g\n", (double)first[i]);
    }
    CHECK(net_reset() == MOTE_OK && holds(shipped));
    session(again); /* the optimizer has forgotten, too */
    CHECK(memcmp(first, again, sizeof first) == 0 && holds(learned));
    for (int i = 0; i < NET_INPUT_SIZE; i++) net_input()[i] = INFINITY;
    CHECK(net_train(0) == MOTE_OK && net_train_end() == MOTE_BAD_STATE);
    CHECK(net_save_weights(&records) == MOTE_BAD_STATE && net_export_weights(now, sizeof now) == MOTE_BAD_STATE);
    CHECK(net_load_weights(&records) == MOTE_OK && net_train_end() == MOTE_OK && holds(learned));
    CHECK(net_saved_weights(&records) == 1);
}

static void check_positions(void) {
    static const int32_t none[DOTS_LABELS] = {-1, -1, -1, -1, -1, -1}, wrong[DOTS_LABELS] = {0, 0, 0, 0, 0, 3};
    CHECK(dots_init() == MOTE_OK);
    CHECK(dots_train(NULL) == MOTE_BAD_STATE && dots_train(none) == MOTE_BAD_STATE && dots_train(wrong) == MOTE_BAD_STATE);
    for (int i = 0; i < SAMPLES; i++) {
        memcpy(dots_input(), dots_samples[i], DOTS_INPUT_BYTES);
        CHECK(dots_train(dots_labels[i]) == MOTE_OK); /* with the learning rate that it was compiled with */
        printf("dots %.9g\n", (double)dots_loss());
    }
    CHECK(dots_train_end() == MOTE_OK);
}

static void check_learner(void) {
    CHECK(seen_init() == MOTE_OK && seen_train_begin() == MOTE_OK && seen_learned_samples() == 0);
    for (int i = 0; i < SAMPLES; i++) {
        memcpy(seen_input(), seen_samples[i], SEEN_INPUT_BYTES);
        CHECK(seen_train(i % 2) == MOTE_OK && seen_learned_samples() == i / 2 + 1);
    }
    CHECK(seen_train_end() == MOTE_OK && seen_train(SEEN_TRAIN_CLASSES) == MOTE_BAD_STATE);
    for (int i = 0; i < SAMPLES; i++) {
        memcpy(seen_input(), seen_samples[i], SEEN_INPUT_BYTES);
        CHECK(seen_run() == MOTE_OK && seen_top1() == (size_t)i % 2);
    }
}

int main(void) {
    CHECK(net_train_begin(1.0f) == MOTE_NOT_READY && net_train(0) == MOTE_NOT_READY);
    CHECK(net_train_end() == MOTE_NOT_READY);
    CHECK(net_init() == MOTE_OK);
    check_classifier();
    check_positions();
    check_learner();
    return 0;
}
