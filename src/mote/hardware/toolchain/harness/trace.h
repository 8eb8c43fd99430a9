/* Included by the compiler's command line in front of the model's own files, to fill its hook between steps.
 *
 * A profile passes the step alone: one instruction for the argument and one for the call, on every core and
 * with every compiler, so that the cost of the hook is a constant that can be measured and subtracted.
 *
 * A mark is one nop with a label: whoever follows the run by addresses sees where a step ends. */
#ifndef MOTE_TRACE_H
#define MOTE_TRACE_H

#include <stddef.h>

void mote_trace(unsigned step, const void *data, size_t bytes);
void mote_mark(unsigned step);

#ifdef MOTE_PROFILE
#define MOTE_TRACE(step, data, bytes) ((void)(data), (void)(bytes), mote_mark((unsigned)(step)))
#elif defined(MOTE_MARK)
#define MOTE_TRACE(step, data, bytes) \
    do { \
        (void)(data), (void)(bytes); \
        __asm__ volatile("mote_step_%c0_%=: nop" : : "i"(step)); \
    } while (0)
#else
#define MOTE_TRACE(step, data, bytes) mote_trace((unsigned)(step), (const void *)(data), (size_t)(bytes))
#endif

#endif
