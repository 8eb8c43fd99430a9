/* main.c: camera lines into a person detector. A recording stands in for the camera's driver: any mote_source_t does, see
 * docs/deploy/sensors.md. */
#include <stdio.h>

#include "mote_recording.h"
#include "person.h"

int main(void)
{
    mote_memory_source_t recording;
    mote_source_t *const camera = &recording.source;
    const void *lines;
    int32_t n;

    mote_memory_source(&recording, &mote_recording);
    if (person_init() != MOTE_OK || mote_source_start(camera) != MOTE_SOURCE_OK) {
        printf("cannot begin\n");
        return 1;
    }
    while ((n = mote_source_read(camera, &lines)) >= 0) {
        const size_t count = (size_t)n / PERSON_INPUT_ROW_BYTES;
        if (count > 0 && person_push((const uint8_t *)lines, count) == MOTE_OK) {
            printf("image:");
            for (size_t i = 0; i < PERSON_OUTPUT_SIZE; i++) {
                printf(" %d", (int)person_output()[i]);
            }
            printf("\n");
        }
    }
    mote_source_stop(camera);
    return camera->lost == 0 && n == MOTE_SOURCE_ENDED ? 0 : 1;
}
