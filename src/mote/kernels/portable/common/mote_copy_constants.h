/* mote_copy_constants.h: constants copied from flash that is waited for into working memory, both aligned to words. */
#ifndef MOTE_COPY_CONSTANTS_H
#define MOTE_COPY_CONSTANTS_H

#include "mote_common.h"

/* Compilers copy a few aligned words by several registers at once; memcpy of a small C library goes byte by byte. */
static inline void mote_copy_constants(void *to, const void *from, size_t bytes) {
    uint32_t *t = (uint32_t *)to;
    const uint32_t *f = (const uint32_t *)from;
    for (; bytes >= 64u; bytes -= 64u, t += 16, f += 16) {
        memcpy(t, f, 64u);
    }
    for (; bytes >= 4u; bytes -= 4u) {
        memcpy(t++, f++, 4u);
    }
    memcpy(t, f, bytes);
}

#endif
