/* mote_update_text.c: what went wrong, in words. */
#include "mote_update.h"

const char *mote_update_text(mote_update_status status) {
    static const char *const texts[] = {
        "all is well",
        "the settings of the update module do not fit",
        "the flash cannot be written",
        "there is no model that may run",
        "nothing was begun",
        "a model is on trial: confirm or revert it first",
        "it is too large",
        "it is not complete",
        "it was damaged on the way",
        "it is no image, or of another format",
        "it is for another product",
        "its version is lower than one that was confirmed",
        "it is not signed",
        "its signature is not genuine",
        "this firmware cannot run it",
        "it is a delta to another image than the installed one",
        "it is no delta, or a damaged one",
    };
    return (uint32_t)status < sizeof texts / sizeof texts[0] ? texts[status] : "unknown";
}
