/* mote_part.c: the target's name, its memories, and memory for images and code; see mote_agent_settings.h. */
#include "mote_agent.h"

#if MOTE_AGENT_IMAGE_BYTES > 0
static uint64_t image[(MOTE_AGENT_IMAGE_BYTES + 7u) / 8u];
#endif
#if MOTE_AGENT_SCRATCH_BYTES > 0 && !defined(MOTE_PORT_OWN_SCRATCH)
static uint64_t scratch[(MOTE_AGENT_SCRATCH_BYTES + 7u) / 8u];
#endif

const char *mote_port_target(void) { return MOTE_PART_NAME; }

int mote_port_memory(uint32_t index, uint32_t *address, uint32_t *bytes) {
    /* One more than there are, so that there is one. */
    static const uint32_t memories[][2] = {MOTE_PART_MEMORIES{0, 0}};
    if (index + 1u >= (uint32_t)(sizeof memories / sizeof memories[0])) {
        return 0;
    }
    *address = memories[index][0];
    *bytes = memories[index][1];
    return 1;
}

void *mote_port_image(uint32_t *bytes) {
#if MOTE_AGENT_IMAGE_BYTES > 0
    *bytes = (uint32_t)sizeof image;
    return image;
#else
    *bytes = 0;
    return 0;
#endif
}

#ifndef MOTE_PORT_OWN_SCRATCH
void *mote_port_scratch(uint32_t *bytes) {
#if MOTE_AGENT_SCRATCH_BYTES > 0
    *bytes = (uint32_t)sizeof scratch;
    return scratch;
#else
    *bytes = 0;
    return 0;
#endif
}
#endif
