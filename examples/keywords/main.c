/* Words from raw sound: what a microphone gives is pushed into the model, whose preprocessing is compiled with it. A
 * recording stands in for the microphone; with another source (docs/deploy/sensors.md) the loop is the same. */
#include <stdio.h>

#include "mote_recording.h"
#include "words.h"

static void print_scores(void)
{
    const int8_t *scores = words_output();
    for (int i = 0; i < WORDS_OUTPUT_SIZE; i++) {
        printf("%d ", scores[i]);
    }
    printf("\n");
}

int main(void)
{
    mote_memory_source_t file;
    mote_source_t *source = &file.source;
    mote_memory_source(&file, &mote_recording);
    if (words_init() != MOTE_OK || mote_source_start(source) != MOTE_SOURCE_OK) {
        return 1;
    }
    for (;;) {
        const void *samples;
        const int32_t n = mote_source_read(source, &samples);
        if (n < 0) {
            return n == MOTE_SOURCE_ENDED ? 0 : 1;
        }
        const mote_status status = words_push((const int16_t *)samples, (size_t)n);
        if (status == MOTE_OK) { /* a window was full */
            print_scores();
        } else if (status != MOTE_WAITING) {
            return 1;
        }
    }
}
