/* fake_runtime.h: what a test sets and sees of fake_runtime.c. */
#ifndef FAKE_RUNTIME_H
#define FAKE_RUNTIME_H

extern volatile int fake_held;               /* while it is not 0, a step does not end, unless a row came with it */
extern volatile long fake_begun, fake_steps; /* steps that have begun, and that have ended */

#endif
