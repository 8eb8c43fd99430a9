/* mote_agent_runtime.h: an agent whose model is data: images for Mote's runtime, in RAM or in a slot of updates.
 *
 * Link mote_agent_runtime.c in the place of a compiled model, with a runtime (`mote runtime`) that is compiled with
 * -DMOTE_RUNTIME_TRACE=mote_agent_step, and mote_examine.c of the update module. The firmware implements the functions
 * below. An image that the host loads is checked as an update is, by the same code.
 */
#ifndef MOTE_AGENT_RUNTIME_H
#define MOTE_AGENT_RUNTIME_H

#include "mote_runtime.h"
#include "mote_update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arenas and states of images. */
const mote_memory_t *mote_agent_memory(void);

/* Who may sign images, for which product, from which version on; with key_count 0 an image needs no signature. */
const mote_update_settings_t *mote_agent_trust(void);

/* Opens an image that needs no more checks, such as that of mote_update_image after a boot; 0: OK. */
int mote_agent_open(const void *image, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
