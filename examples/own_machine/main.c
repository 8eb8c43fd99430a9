/* An anomaly detector that gets to know its own machine: vibration comes in, windows that look normal are learned.
 *
 * Windows of a header stand in for the accelerometer; with a source (docs/deploy/sensors.md) the loop is the same. */
#include <stdio.h>

#include "guard.h"
#include "windows.h"

/* Hand over a window, which is learned where it is known to be normal; 0: something failed. */
static int push(const int16_t *window, int normal)
{
    if (normal && guard_train(0) != MOTE_OK) {
        return 0;
    }
    return guard_push(window, WINDOW) == MOTE_OK;
}

int main(void)
{
    if (guard_init() != MOTE_OK || guard_train_begin() != MOTE_OK) {
        return 1;
    }
    for (int i = 0; i < WINDOWS; i++) {
        if (!push(windows[i], 0)) {
            return 1;
        }
        const int32_t score = guard_output()[0];
        const int normal = i < INSTALLED || score <= LIMIT; /* who installs a machine sees to it that it runs well */
        if (normal && !push(windows[i], 1)) {
            return 1;
        }
        printf("%d %d\n", (int)score, normal ? (int)guard_learned_samples() : 0);
    }
    return guard_train_end() == MOTE_OK ? 0 : 1;
}
