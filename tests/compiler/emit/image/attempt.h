/* attempt.h: an image that may be damaged is loaded and run. Memory is exactly as large as the runtime asks for, and the
 * image as large as it is, so that a sanitizer sees every byte that is touched beyond. */
#ifndef ATTEMPT_H
#define ATTEMPT_H

#include <stdlib.h>
#include <string.h>

#include "mote_train.h"

extern const mote_kernels_t mote_kernels;

#define MOST_MEMORY (1u << 22) /* bytes that are given: a firmware has no more */
#define MOST_STEPS 20000       /* a loop may go on for ever */

typedef struct {
    mote_status status;
    mote_problem_t problem; /* valid until the next attempt */
    int ran;                /* inferences that came to their end */
    uint32_t sum;           /* of the outputs' bytes */
    size_t named;           /* bytes of all names */
} attempt_t;

static uint32_t attempt_next(uint32_t *random) { return *random = *random * 1664525u + 1013904223u; }

static void attempt_fill(uint8_t *bytes, size_t count, uint32_t *random) {
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(attempt_next(random) >> 24);
    }
}

/* Write inputs, or push rows, and go on to the end of an inference. */
static void attempt_inference(mote_interpreter_t *it, uint32_t *random, attempt_t *found) {
    mote_tensor_t info;
    uint8_t *row = NULL;
    for (size_t i = 0; i < mote_input_count(it); i++) {
        mote_input_info(it, i, &info);
        uint8_t *const input = mote_input(it, i);
        if (input != NULL) {
            attempt_fill(input, info.bytes, random);
        } else if (info.row_bytes <= MOST_MEMORY) {
            row = malloc(info.row_bytes > 0 ? info.row_bytes : 1);
            attempt_fill(row, info.row_bytes, random);
        }
    }
    mote_status status = MOTE_BUSY;
    int waited = 0;
    for (int32_t i = 0; i < MOST_STEPS && status == MOTE_BUSY; i++) {
        status = mote_step(it);
        if (status == MOTE_WAITING && row != NULL && waited++ < 1000) {
            status = mote_push_row(it, row);
        }
    }
    free(row);
    found->ran += status != MOTE_BUSY;
    for (size_t i = 0; i < mote_output_count(it); i++) {
        const uint8_t *const output = mote_output(it, i);
        mote_output_info(it, i, &info);
        for (size_t k = 0; k < info.bytes; k++) {
            found->sum = found->sum * 31u + output[k];
        }
    }
}

/* Everything that a caller can ask for. */
static void attempt_rest(mote_interpreter_t *it, attempt_t *found) {
    mote_tensor_t info;
    for (size_t i = 0; i < mote_input_count(it) && mote_input_info(it, i, &info) == MOTE_OK; i++) {
        found->named += strlen(info.name) + (info.labels == NULL ? 0 : strlen(info.labels)) + info.shape[info.rank > 0 ? info.rank - 1 : 0] % 2;
        found->named += (size_t)mote_output_index(it, info.name);
    }
    const size_t bytes = mote_state_bytes(it);
    uint8_t *const state = malloc(bytes);
    if (mote_save(it, state, bytes) == MOTE_OK && mote_restore(it, state, bytes) != MOTE_OK) {
        abort();
    }
    free(state);
    mote_reset(it);
}

/* Flash of one unit in memory, and a code for the records in it. */
static uint8_t attempt_flash[1u << 16];

static int attempt_erase(void *context, uint32_t at, uint32_t bytes) {
    (void)context;
    memset(attempt_flash + at, 0xff, bytes);
    return 0;
}

static int attempt_write(void *context, uint32_t at, const uint8_t *data, uint32_t bytes) {
    (void)context;
    memcpy(attempt_flash + at, data, bytes);
    return 0;
}

static void attempt_begin(void *context) { *(uint64_t *)context = 14695981039346656037u; }

static void attempt_put(void *context, const void *data, uint32_t bytes) {
    uint64_t *const hash = context;
    for (uint32_t i = 0; i < bytes; i++) {
        *hash = (*hash ^ ((const uint8_t *)data)[i]) * 1099511628211u;
    }
}

static int attempt_end(void *context, uint8_t *mac) {
    memset(mac, 0, MOTE_MAC_BYTES);
    memcpy(mac, context, sizeof(uint64_t));
    return 0;
}

/* A session of training; what was learned is saved and loaded again. */
static void attempt_training(mote_interpreter_t *it, uint32_t *random, attempt_t *found) {
    static uint8_t buffer[MOTE_RECORDS_BUFFER];
    static const mote_flash_t flash = {attempt_flash, 8, attempt_erase, attempt_write, NULL, NULL};
    static const mote_records_t records = {&flash, {0, sizeof attempt_flash, 4096}, buffer};
    uint64_t hash = 0;
    const mote_mac_t mac = {attempt_begin, attempt_put, attempt_end, &hash};
    const uint32_t bytes = mote_weights_bytes(it);
    if (bytes == 0 || mote_train_begin(it, 0.25f) != MOTE_OK) {
        return;
    }
    for (int32_t label = -1; label < 3; label++) {
        if (mote_set_labels(it, &label, 1) == MOTE_OK) {
            attempt_inference(it, random, found);
        }
    }
    const uint32_t loss = (uint32_t)(mote_loss(it) > 0) + (uint32_t)mote_learned_samples(it);
    found->sum += loss;
    if (mote_train_end(it) != MOTE_OK || bytes > MOST_MEMORY) {
        return;
    }
    uint8_t *const record = malloc(bytes);
    if (mote_export_weights(it, record, bytes, &mac) != MOTE_OK || mote_import_weights(it, record, bytes, &mac) != MOTE_OK) {
        abort();
    }
    free(record);
    memset(attempt_flash, 0xff, sizeof attempt_flash);
    const mote_status saved = mote_save_weights(it, &records, &mac);
    if (saved != MOTE_BAD_FLASH && (saved != MOTE_OK || mote_load_weights(it, &records, &mac) != MOTE_OK)) {
        abort();
    }
}

/* What firmware asks before it loads an image. */
static mote_status attempt_crc(const uint8_t *data, size_t bytes) {
    uint64_t *const image = malloc(bytes > 0 ? bytes : 1);
    memcpy(image, data, bytes);
    const mote_status status = mote_image_crc(image, bytes);
    free(image);
    return status;
}

/* Load an image of `bytes` at `data`, run it twice, look at everything. */
static attempt_t attempt(const uint8_t *data, size_t bytes) {
    attempt_t found = {MOTE_BAD_IMAGE, {"", "", 0}, 0, 0, 0};
    static uint8_t *image = NULL; /* names of a problem lie in it */
    free(image);
    image = malloc(bytes > 0 ? bytes : 1);
    memcpy(image, data, bytes);
    mote_needs_t needs;
    found.status = mote_needs(image, bytes, &needs);
    uint64_t all = needs.state;
    for (uint32_t i = 0; i < 4 && found.status == MOTE_OK; i++) {
        all += needs.arena[i];
    }
    if (found.status != MOTE_OK || all > MOST_MEMORY) {
        return found;
    }
    mote_memory_t memory;
    mote_interpreter_t it;
    uint32_t random = 1;
    for (uint32_t i = 0; i < 4; i++) {
        memory.arena_bytes[i] = needs.arena[i];
        memory.arena[i] = malloc(needs.arena[i] > 0 ? needs.arena[i] : 1);
        attempt_fill(memory.arena[i], needs.arena[i], &random);
    }
    memory.state_bytes = needs.state;
    memory.state = malloc(needs.state);
    attempt_fill(memory.state, needs.state, &random);
    found.status = mote_init(&it, &mote_kernels, image, bytes, &memory, &found.problem);
    found.named = strlen(found.problem.what) + strlen(found.problem.name);
    if (found.status == MOTE_OK) {
        for (int i = 0; i < 2; i++) {
            attempt_inference(&it, &random, &found);
        }
        attempt_training(&it, &random, &found);
        attempt_rest(&it, &found);
    }
    if (memcmp(image, data, bytes) != 0) {
        abort(); /* an image is never written */
    }
    for (uint32_t i = 0; i < 4; i++) {
        free(memory.arena[i]);
    }
    free(memory.state);
    return found;
}

#endif
