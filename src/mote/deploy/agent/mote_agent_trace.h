/* mote_agent_trace.h: the hook between a model's steps, for the compiler's command line: -include mote_agent_trace.h in
 * front of the model's own files, or -DMOTE_RUNTIME_TRACE=mote_agent_step for the runtime of images. */
#ifndef MOTE_AGENT_TRACE_H
#define MOTE_AGENT_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void mote_agent_step(uint32_t step, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#define MOTE_TRACE(step, data, bytes) mote_agent_step((uint32_t)(step), (const void *)(data), (size_t)(bytes))

#endif
