/* listen.c: a wake word in a stream of sound: the pins that the interface board watches, and the scores. */
#include "mlperf.h"

#if MLPERF_AUDIO

#include <stdio.h>

#if MLPERF_RECORDING
#include "mote_memory_source.h"
#include "mote_recording.h"

static mote_source_t *board_audio(void)
{
    static mote_memory_source_t memory;
    if (memory.source.read == NULL) {
        mote_memory_source(&memory, &mote_recording);
    }
    return &memory.source;
}
#endif

enum { MOST = 4096, VALUES_OF_A_LINE = 16 };

static enum { IDLE, LISTENING, ENDED } state;
static int8_t scores[MOST]; /* of the first MOST inferences: two minutes */
static size_t count;
static int begun; /* the first inference is a detection, for the interface board to know when time begins */
static uint32_t heard; /* values until then */

void listen_start(void)
{
    if (state != IDLE) {
        printf("e-[It listens already]\n");
        return;
    }
    task_forget();
    count = 0;
    begun = 0;
    heard = 0;
    board_pulse(PIN_TIMESTAMP);
    board_set(PIN_PROCESSING, 1);
    board_set(PIN_PROCESSING, 0);
    if (mote_source_start(board_audio()) != MOTE_SOURCE_OK) {
        printf("e-[The source of sound does not start: %ld]\n", (long)board_audio()->error);
        return;
    }
    state = LISTENING;
}

void listen_stop(void)
{
    if (state == IDLE) {
        return;
    }
    (void)mote_source_stop(board_audio());
    state = IDLE;
    board_pulse(PIN_TIMESTAMP);
    printf("m-lost-[%lu]\n", (unsigned long)board_audio()->lost);
    printf("m-first-[%lu]\n", (unsigned long)heard);
    printf("target activations:\n[");
    for (size_t i = 0; i < count; i++) {
        printf(i + 1 == count ? "%d" : (i + 1) % VALUES_OF_A_LINE == 0 ? "%d,\n" : "%d, ", (int)scores[i]);
    }
    printf("]\n");
}

void listen_state(void)
{
    printf("m-state-[%s]\n", state == IDLE ? "idle" : state == LISTENING ? "listening" : "ended");
    printf("m-input-[%ld]\n", (long)MLPERF_INPUT_BYTES);
}

int listen_poll(void)
{
    if (state != LISTENING) {
        return 0;
    }
    const void *values;
    const int32_t n = mote_source_read(board_audio(), &values);
    if (n < 0) {
        state = ENDED;
        return 0;
    }
    if (n > 0) {
        int8_t score;
        board_set(PIN_PROCESSING, 1);
        heard += begun ? 0u : (uint32_t)n;
        const int ended = task_hear((const int16_t *)values, (size_t)n, &score);
        if (ended > 0) {
            if (score > MLPERF_THRESHOLD || !begun) {
                board_pulse(PIN_DETECTED);
            }
            begun = 1;
            if (count < MOST) {
                scores[count++] = score;
            }
        }
        board_set(PIN_PROCESSING, 0);
    }
    return 1;
}

#else
typedef int mlperf_no_sound; /* a file of C is never empty */
#endif
