/* A wake word in a stream of sound. Each block of samples is pushed; the front end, the network and the detector behind
 * it are one model, which remembers what it needs of the past. A recording stands in for the microphone; with another
 * source (docs/deploy/sensors.md) the loop is the same. */
#include <stdio.h>

#include "mote_recording.h"
#include "wake.h"

enum { EVENT, CLASS, SCORE, ACTIVE }; /* what the detector gives */

int main(void)
{
    mote_memory_source_t file;
    mote_source_t *source = &file.source;
    int32_t heard = 0; /* samples so far */
    mote_memory_source(&file, &mote_recording);
    if (wake_init() != MOTE_OK || mote_source_start(source) != MOTE_SOURCE_OK) {
        return 1;
    }
    for (;;) {
        const void *samples;
        const int32_t n = mote_source_read(source, &samples);
        if (n < 0) {
            return n == MOTE_SOURCE_ENDED ? 0 : 1;
        }
        heard += n;
        const mote_status status = wake_push((const int16_t *)samples, (size_t)n);
        if (status == MOTE_OK) {
            const int32_t *detected = wake_output();
            printf("%d %d %d %d\n", (int)heard, (int)detected[EVENT], (int)detected[SCORE], (int)detected[ACTIVE]);
        } else if (status != MOTE_WAITING) {
            return 1;
        }
    }
}
