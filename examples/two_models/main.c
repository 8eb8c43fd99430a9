/* Two models that take turns: a wake word listens all the time; once it is heard, a keyword spotter hears the second of
 * sound that follows, and the wake word listens again. They share one arena, as they never run at the same time. A
 * recording stands in for the microphone; with another source (docs/deploy/sensors.md) the loop is the same. */
#include <stdio.h>

#include "mote_recording.h"
#include "wake.h"
#include "words.h"

#define ARENA_BYTES (WAKE_ARENA_BYTES > WORDS_ARENA_BYTES ? WAKE_ARENA_BYTES : WORDS_ARENA_BYTES)

static uint64_t arena[(ARENA_BYTES + 7) / 8];

static int listen_for_the_wake_word(void)
{
    return wake_init(arena, sizeof arena) == MOTE_OK;
}

static int listen_for_a_word(void)
{
    return words_init(arena, sizeof arena) == MOTE_OK;
}

static int best_word(void)
{
    const int8_t *scores = words_output();
    int best = 0;
    for (int i = 1; i < WORDS_OUTPUT_SIZE; i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    return best;
}

int main(void)
{
    mote_memory_source_t file;
    mote_source_t *source = &file.source;
    int32_t heard = 0; /* samples so far */
    int awake = 0;
    mote_memory_source(&file, &mote_recording);
    if (!listen_for_the_wake_word() || mote_source_start(source) != MOTE_SOURCE_OK) {
        return 1;
    }
    for (;;) {
        const void *data;
        const int32_t n = mote_source_read(source, &data);
        const int16_t *samples = (const int16_t *)data;
        mote_status status;
        if (n < 0) {
            return n == MOTE_SOURCE_ENDED ? 0 : 1;
        }
        heard += n;
        status = awake ? words_push(samples, (size_t)n) : wake_push(samples, (size_t)n);
        if (status != MOTE_OK && status != MOTE_WAITING) {
            return 1;
        }
        if (status == MOTE_OK && awake) {
            printf("%d word %d\n", (int)heard, best_word());
            awake = 0;
            if (!listen_for_the_wake_word()) {
                return 1;
            }
        } else if (status == MOTE_OK && wake_output()[0] != 0) {
            printf("%d wake\n", (int)heard);
            awake = 1;
            if (!listen_for_a_word()) {
                return 1;
            }
        }
    }
}
