/* mote_train.c: what mote_train.h declares. What an image says of its states was checked by mote_init. */
#include "mote_train.h"

#include "mote_interpreter.h"

#define MOTE_WEIGHTS_APART sizeof(mote_trained_t)
#include "mote_weights.h"

typedef char mote_trained_is_a_part[offsetof(mote_trained_t, kind) == offsetof(mote_weights_part_t, kind) ? 1 : -1];

static const mote_trained_t *mote_trained(const mote_interpreter_t *it) {
    return (const mote_trained_t *)mote_section(it, MOTE_SECTION_STATES);
}

/* The state with a role that one state has at most, or NULL. */
static const mote_trained_t *mote_of_role(const mote_interpreter_t *it, uint32_t role) {
    const uint32_t count = it->position == 0 || !mote_trains(mote_header(it)) ? 0 : mote_header(it)->sections[MOTE_SECTION_STATES].count;
    for (uint32_t i = 0; i < count; i++) {
        if (mote_trained(it)[i].role == role) {
            return mote_trained(it) + i;
        }
    }
    return NULL;
}

static void mote_write_state(const mote_interpreter_t *it, const mote_trained_t *state, const void *data) {
    memcpy(it->memory[4] + state->at, data, (size_t)state->bytes);
}

/* A state of four bytes; zero where there is none. */
static void mote_read_word(const mote_interpreter_t *it, uint32_t role, void *word) {
    const mote_trained_t *const state = mote_of_role(it, role);
    memset(word, 0, 4);
    if (state != NULL) {
        memcpy(word, it->memory[4] + state->at, 4);
    }
}

/* Whether states can be written now. */
static mote_status mote_may_train(const mote_interpreter_t *it) {
    if (it->position == 0) {
        return MOTE_NOT_READY;
    }
    return mote_of_role(it, MOTE_ROLE_LEARNED) == NULL ? MOTE_UNSUPPORTED : it->position != 1 ? MOTE_BUSY : MOTE_OK;
}

mote_status mote_train_begin(const mote_interpreter_t *it, float rate) {
    const mote_status status = mote_may_train(it);
    const mote_trained_t *const rates = mote_of_role(it, MOTE_ROLE_RATE);
    if (status != MOTE_OK) {
        return status;
    }
    if (rates != NULL && (!(rate > 0.0f) || rate > 3.4e38f)) {
        return MOTE_BAD_STATE;
    }
    mote_forget_roles(it, 1u << MOTE_ROLE_LABEL | 1u << MOTE_ROLE_OPTIMIZER | 1u << MOTE_ROLE_COUNT | 1u << MOTE_ROLE_LOSS);
    if (rates != NULL) {
        mote_write_state(it, rates, &rate);
    }
    return MOTE_OK;
}

/* Whether labels are classes, and one is known. */
static int mote_are_classes(const int32_t *labels, size_t count, int32_t most) {
    int32_t largest = -1;
    for (size_t i = 0; i < count; i++) {
        if (labels[i] < -1 || labels[i] > most) {
            return 0;
        }
        largest = labels[i] > largest ? labels[i] : largest;
    }
    return largest >= 0;
}

mote_status mote_set_labels(const mote_interpreter_t *it, const int32_t *labels, size_t count) {
    const mote_status status = mote_may_train(it);
    const mote_trained_t *const told = mote_of_role(it, MOTE_ROLE_LABEL);
    if (status != MOTE_OK) {
        return status;
    }
    if (told == NULL || mote_of_role(it, MOTE_ROLE_TARGET) != NULL) {
        return MOTE_UNSUPPORTED;
    }
    if (labels == NULL || count != told->bytes / 4u || !mote_are_classes(labels, count, told->high)) {
        return MOTE_BAD_STATE;
    }
    mote_write_state(it, told, labels);
    return MOTE_OK;
}

mote_status mote_set_target(const mote_interpreter_t *it, const void *target, size_t bytes) {
    const mote_status status = mote_may_train(it);
    const mote_trained_t *const told = mote_of_role(it, MOTE_ROLE_LABEL), *const wanted = mote_of_role(it, MOTE_ROLE_TARGET);
    if (status != MOTE_OK) {
        return status;
    }
    if (told == NULL || wanted == NULL) {
        return MOTE_UNSUPPORTED;
    }
    if (target == NULL || bytes != wanted->bytes) {
        return MOTE_BAD_STATE;
    }
    mote_write_state(it, wanted, target);
    memset(it->memory[4] + told->at, 0, (size_t)told->bytes);
    return MOTE_OK;
}

/* An inference that learns, if it was said what; without a label again where it does not come to its end. */
static mote_status mote_train_once(mote_interpreter_t *it, mote_status said) {
    const mote_status status = said == MOTE_OK ? mote_invoke(it) : said;
    if (said == MOTE_OK && status != MOTE_OK) {
        mote_forget_roles(it, 1u << MOTE_ROLE_LABEL);
    }
    return status;
}

mote_status mote_train(mote_interpreter_t *it, int32_t label) { return mote_train_once(it, mote_set_labels(it, &label, 1)); }

mote_status mote_train_target(mote_interpreter_t *it, const void *target, size_t bytes) {
    return mote_train_once(it, mote_set_target(it, target, bytes));
}

float mote_loss(const mote_interpreter_t *it) {
    float loss;
    mote_read_word(it, MOTE_ROLE_LOSS, &loss);
    return loss;
}

int32_t mote_learned_samples(const mote_interpreter_t *it) {
    int32_t samples;
    mote_read_word(it, MOTE_ROLE_COUNT, &samples);
    return samples;
}

/* What the records of an image are. */
static mote_weights_t mote_weights_of(const mote_interpreter_t *it, const mote_weights_seal_t *seal) {
    const mote_header_t *const header = mote_header(it);
    mote_weights_t weights = {0, 0, NULL, 0, NULL};
    weights.model = mote_identity(it);
    weights.parts = (const mote_weights_part_t *)(const void *)mote_trained(it);
    weights.count = header->sections[MOTE_SECTION_STATES].count;
    weights.seal = seal;
    uint32_t bytes = (uint32_t)sizeof(mote_weights_head_t) + mote_weights_end(&weights) + 3u;
    for (uint32_t i = 0; i < weights.count; i++) {
        bytes += mote_weights_part(&weights, i).bytes;
    }
    weights.bytes = bytes & ~(uint32_t)3;
    return weights;
}

static mote_weights_seal_t mote_seal(const mote_interpreter_t *it, const mote_mac_t *mac) {
    const mote_weights_seal_t seal = {mac, mote_header(it), MOTE_IMAGE_HEADER};
    return seal;
}

mote_status mote_train_end(const mote_interpreter_t *it) {
    const mote_status status = mote_may_train(it);
    if (status != MOTE_OK) {
        return status;
    }
    const mote_weights_t weights = mote_weights_of(it, NULL);
    return mote_weights_hold(&weights, it->memory[4]) ? MOTE_OK : MOTE_BAD_STATE;
}

uint32_t mote_weights_bytes(const mote_interpreter_t *it) {
    if (mote_of_role(it, MOTE_ROLE_LEARNED) == NULL) {
        return 0;
    }
    const mote_weights_seal_t seal = mote_seal(it, NULL);
    return mote_weights_of(it, &seal).bytes;
}

/* Whether there are records; what they are. */
static mote_status mote_may_record(const mote_interpreter_t *it, const mote_mac_t *mac, mote_weights_seal_t *seal,
                                   mote_weights_t *weights) {
    const mote_status status = mote_may_train(it);
    if (status != MOTE_OK) {
        return status;
    }
    *seal = mote_seal(it, mac);
    *weights = mote_weights_of(it, seal);
    return mac == NULL ? MOTE_BAD_STATE : MOTE_OK;
}

/* The same, and whether an area of flash holds them. */
static mote_status mote_may_use_flash(const mote_interpreter_t *it, const mote_records_t *records, const mote_mac_t *mac,
                                      mote_weights_seal_t *seal, mote_weights_t *weights) {
    const mote_status status = mote_may_record(it, mac, seal, weights);
    return status == MOTE_OK && !mote_records_fit(records, weights->bytes) ? MOTE_BAD_FLASH : status;
}

mote_status mote_save_weights(const mote_interpreter_t *it, const mote_records_t *records, const mote_mac_t *mac) {
    mote_weights_seal_t seal;
    mote_weights_t weights;
    const mote_status status = mote_may_use_flash(it, records, mac, &seal, &weights);
    if (status != MOTE_OK) {
        return status;
    }
    if (!mote_weights_hold(&weights, it->memory[4])) {
        return MOTE_BAD_STATE;
    }
    return mote_weights_save(&weights, records, it->memory[4]) ? MOTE_OK : MOTE_BAD_FLASH;
}

mote_status mote_load_weights(mote_interpreter_t *it, const mote_records_t *records, const mote_mac_t *mac) {
    mote_weights_seal_t seal;
    mote_weights_t weights;
    const mote_status status = mote_may_use_flash(it, records, mac, &seal, &weights);
    if (status != MOTE_OK) {
        return status;
    }
    const mote_weights_found_t newest = mote_weights_find(&weights, records);
    if (newest.own == UINT32_MAX) {
        return MOTE_BAD_STATE;
    }
    const uint32_t at = mote_record_at(records, weights.bytes, newest.own);
    if (!mote_weights_take(&weights, records->flash, at, it->memory[4])) {
        mote_forget(it);
        return MOTE_BAD_FLASH;
    }
    return MOTE_OK;
}

uint32_t mote_saved_weights(const mote_interpreter_t *it, const mote_records_t *records, const mote_mac_t *mac) {
    mote_weights_seal_t seal;
    mote_weights_t weights;
    if (mote_may_use_flash(it, records, mac, &seal, &weights) != MOTE_OK) {
        return 0;
    }
    return mote_weights_find(&weights, records).saves;
}

mote_status mote_export_weights(const mote_interpreter_t *it, void *record, size_t bytes, const mote_mac_t *mac) {
    mote_weights_seal_t seal;
    mote_weights_t weights;
    const mote_status status = mote_may_record(it, mac, &seal, &weights);
    if (status != MOTE_OK) {
        return status;
    }
    if (record == NULL || bytes < weights.bytes || !mote_weights_hold(&weights, it->memory[4])) {
        return MOTE_BAD_STATE;
    }
    return mote_weights_export(&weights, it->memory[4], record) ? MOTE_OK : MOTE_FAILED;
}

mote_status mote_import_weights(mote_interpreter_t *it, const void *record, size_t bytes, const mote_mac_t *mac) {
    mote_weights_seal_t seal;
    mote_weights_t weights;
    const mote_status status = mote_may_record(it, mac, &seal, &weights);
    if (status != MOTE_OK) {
        return status;
    }
    if (record == NULL || bytes < weights.bytes) {
        return MOTE_BAD_STATE;
    }
    return mote_weights_import(&weights, record, it->memory[4]) ? MOTE_OK : MOTE_BAD_STATE;
}
