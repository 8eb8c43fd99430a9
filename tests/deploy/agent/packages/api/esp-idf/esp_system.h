#include <stdlib.h>

#include "esp_err.h"

static inline void esp_restart(void) { exit(1); }
