/* mlperf.h: firmware for MLPerf Tiny in three parts: the commands of the serial line (protocol.c), the model and the
 * formats of its inputs and results (task.c), and the board (one file of ../boards). */
#ifndef MLPERF_H
#define MLPERF_H

#include <stddef.h>
#include <stdint.h>

/* Written for a task by mlperf_tiny.py:
 * MLPERF_MODEL        the task's name in the benchmark, "kws01"
 * MLPERF_PROFILE      what the firmware calls itself
 * MLPERF_INPUT_BYTES  bytes of an input on the line
 * MLPERF_FLOATS       1 where an input has float32 values, and the result is how well the model gives them back
 * MLPERF_FLIP         0x80 where an input has bytes from 0 to 255, which the model takes as -128 to 127; 0 otherwise
 * MLPERF_COMMAND      the most characters of a command
 * MLPERF_ENERGY       1 where the time is stamped on a pin, for a power monitor, and not on the line */
#include "config.h"

/* protocol.c */
void mlperf_begin(void);
void mlperf_receive(char character);

/* task.c. Functions return 0 where the model failed. */
int task_begin(void);
/* What is done once for an input, before time is taken: `input` is MLPERF_INPUT_BYTES, each flipped by MLPERF_FLIP, and
 * stays as it is until the next one is loaded. */
void task_load(const uint8_t *input);
int task_infer(void);
void task_results(void);

/* The board. */
enum { BOARD_NOTHING = -1, BOARD_CLOSED = -2 };
void board_begin(void);
/* The next character of the line, BOARD_NOTHING, or BOARD_CLOSED where nobody will send any more. */
int board_read(void);
/* A clock that wraps after 2^32 microseconds. */
uint32_t board_microseconds(void);
/* The pin for the power monitor: low for at least a microsecond, then high. */
void board_pulse(void);

#endif
