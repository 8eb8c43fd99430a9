/* mlperf.h: firmware for MLPerf Tiny: the commands of the serial line (protocol.c), the model and the formats of its
 * inputs and results (task.c), a model that listens (listen.c), and the board (one file of ../boards). */
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
 * MLPERF_AUDIO        1 where the model takes samples of sound, and an input has 512 of them in 16 bits
 * MLPERF_RECORDING    1 where a recording in the firmware stands in for the microphone
 * MLPERF_THRESHOLD    the score above which it is a detection
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

#if MLPERF_AUDIO
#include "mote_source.h"

/* Samples for the model, channels interleaved: 1 where an inference has ended, 0 where none has, -1 where it failed.
 * `score` is that of the wake word. */
int task_hear(const int16_t *values, size_t count, int8_t *score);
void task_forget(void);
void task_activations(void);

/* listen.c */
void listen_start(void);
void listen_stop(void);
void listen_state(void);
/* Take the next block of sound, if there is one. Whether there may be more soon. */
int listen_poll(void);
#endif

/* The board. */
enum { BOARD_NOTHING = -1, BOARD_CLOSED = -2 };
enum { PIN_TIMESTAMP, PIN_PROCESSING, PIN_DETECTED };
void board_begin(void);
/* The next character of the line, BOARD_NOTHING, or BOARD_CLOSED where nobody will send any more. With `wait` it may
 * sleep until there is one. */
int board_read(int wait);
/* A clock that wraps after 2^32 microseconds. */
uint32_t board_microseconds(void);
/* Pins of the power monitor and of the interface board. PIN_TIMESTAMP and PIN_DETECTED are high after board_begin. */
void board_set(int pin, int high);
#if MLPERF_AUDIO && !MLPERF_RECORDING
/* The microphone: 16,000 samples a second. */
mote_source_t *board_audio(void);
#endif

/* A pin low for a microsecond or more, then high. */
static inline void board_pulse(int pin)
{
    const uint32_t begin = board_microseconds();
    board_set(pin, 0);
    while (board_microseconds() - begin < 2u) {
    }
    board_set(pin, 1);
}

#endif
