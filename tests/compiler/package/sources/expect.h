/* expect.h: one line for a test that fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(what)                                                  \
    do {                                                              \
        if (!(what)) {                                                \
            fprintf(stderr, "line %d: %s\n", (int)__LINE__, #what);   \
            exit(1);                                                  \
        }                                                             \
    } while (0)
