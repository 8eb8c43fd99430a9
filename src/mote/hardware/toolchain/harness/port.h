/* What the harness needs of the machine below it: two files, a way out, and a measured call.
 * port_device.c does it by semihosting on an emulated core, port_host.c with stdio. */
#ifndef MOTE_PORT_H
#define MOTE_PORT_H

#include <stddef.h>
#include <stdint.h>

#define PORT_INPUTS "mote_inputs.bin"
#define PORT_RESULTS "mote_results.bin"
#define PORT_CALLS "mote_device_calls"
#define PORT_ANSWERS "mote_device_answers"

/* One run of a function, in ticks of the board's counter. `high` says how often the counter has wrapped. */
struct port_run {
    uint32_t before, after;
    uint32_t high_before, high_after;
    uint32_t stack;      /* bytes below the caller's frame */
    uint32_t overflowed; /* 1 when the stack was used to its end */
    uint32_t last_mark;  /* when the last mark, if there was one, returned, less what was skipped before it */
    uint32_t skipped;    /* by simulated accelerators */
};

int port_open(void); /* 0 = ok */
int port_read(void *data, size_t bytes);
int port_write(const void *data, size_t bytes);
void port_exit(int status);

/* The two pipes to those who answer for simulated accelerators. */
int port_device_open(void); /* 0 = ok */
int port_device_read(void *data, size_t bytes);
int port_device_write(const void *data, size_t bytes);
extern uint32_t port_skipped; /* ticks since the run began that are not the model's */

/* 1 where ticks mean something: an emulated core, not the host. */
int port_counts(void);
int port_measure(int (*function)(void), struct port_run *run);
uint32_t port_ticks(void);

/* Functions of known length, to find what measuring itself costs: one return instruction,
 * and two marks with nothing between them. */
int port_nothing(void);
int port_two_marks(void);

/* The program; called by the start-up code of a core or by the host's main(). Returns the exit status. */
int harness_main(void);
/* A core has trapped: written to the results, then the end. */
void mote_fault(uint32_t cause, uint32_t pc);

#endif
