/* main.c: commands as they come. The runner waits for each answer, so that no character comes meanwhile. */
#include "mlperf.h"

int main(void)
{
    board_begin();
    mlperf_begin();
    for (;;) {
        const int character = board_read();
        if (character == BOARD_CLOSED) {
            return 0;
        }
        if (character != BOARD_NOTHING) {
            mlperf_receive((char)character);
        }
    }
}
