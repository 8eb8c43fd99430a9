/* mote_state.h: what a model remembers as bytes that can be kept elsewhere, and how it knows them again. */
#ifndef MOTE_STATE_H
#define MOTE_STATE_H

#include <string.h>

#include "mote_crc.h"

/* A saved state begins with four words: the version of this form, the bytes of all, the model, the CRC of the rest. */
#define MOTE_STATE_HEAD 16u
#define MOTE_STATE_VERSION 0x314d5453u

static inline uint32_t mote_state_crc(const uint32_t *head, const void *kept, size_t bytes) {
    return mote_crc(mote_crc(0, head, 12, 4), kept, bytes, 1);
}

static inline void mote_state_save(void *state, uint32_t model, const void *kept, size_t bytes) {
    uint32_t head[4] = {MOTE_STATE_VERSION, MOTE_STATE_HEAD + (uint32_t)bytes, model, 0};
    head[3] = mote_state_crc(head, kept, bytes);
    memcpy(state, head, sizeof head);
    memcpy((uint8_t *)state + sizeof head, kept, bytes);
}

/* Whether `state` is what mote_state_save wrote for this model. */
static inline int mote_state_fits(const void *state, uint32_t model, size_t bytes) {
    uint32_t head[4];
    memcpy(head, state, sizeof head);
    return head[0] == MOTE_STATE_VERSION && head[1] == MOTE_STATE_HEAD + (uint32_t)bytes && head[2] == model &&
           head[3] == mote_state_crc(head, (const uint8_t *)state + sizeof head, bytes);
}

#endif
