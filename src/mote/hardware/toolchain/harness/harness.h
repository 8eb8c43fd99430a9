/* The contract between a generated model and the program that runs it under an emulator.
 *
 * The code generator writes a glue file that implements the first group; Mote's toolchain compiles it
 * together with this folder. A call of harness_run() is one inference, and is what the numbers are about. */
#ifndef MOTE_HARNESS_H
#define MOTE_HARNESS_H

#include <stddef.h>
#include <stdint.h>

/* Implemented by the glue. */
extern const uint32_t harness_input_count, harness_output_count, harness_step_count;
void *harness_input(uint32_t i);
size_t harness_input_bytes(uint32_t i);
const void *harness_output(uint32_t i);
size_t harness_output_bytes(uint32_t i);
int harness_init(void);  /* once, before the first inference; 0 = ok */
int harness_check(void); /* 0 = the constants in flash are what they should be */
int harness_run(void);   /* 0 = ok */

/* Implemented here; called through MOTE_TRACE (trace.h) after each step, or after each piece of one. */
void mote_trace(unsigned step, const void *data, size_t bytes); /* writes the step's output to the results */
void mote_mark(unsigned step);                                  /* writes the instructions since the last mark */

#endif
