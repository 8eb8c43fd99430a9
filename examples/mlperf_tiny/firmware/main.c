/* main.c: commands as they come. The runner waits for each answer, so that no character comes meanwhile; sound is
 * heard between them. */
#include "mlperf.h"

int main(void)
{
    board_begin();
    mlperf_begin();
    for (;;) {
        int more = 0;
#if MLPERF_AUDIO
        more = listen_poll();
#endif
        const int character = board_read(!more);
        if (character == BOARD_CLOSED) {
            return 0;
        }
        if (character != BOARD_NOTHING) {
            mlperf_receive((char)character);
        }
    }
}
