/* Calls of an accelerator that is simulated: its driver, written for the harness, hands memory to Mote and takes it back
 * as the accelerator would have left it.
 *
 * `device` is the name of the external generator, whose `simulate` is given the `count` areas of memory, of `bytes[i]`
 * bytes each, in their order. Areas that it changes are written, others are left alone: they may be constants.
 * Returns 0, or the generator's error code. */
#ifndef MOTE_DEVICE_H
#define MOTE_DEVICE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

int mote_device_call(const char *device, void *const *memory, const uint32_t *bytes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
