/* mote_copy_constants.h: constants copied from flash that is waited for into working memory, both aligned to words. */
#ifndef MOTE_COPY_CONSTANTS_H
#define MOTE_COPY_CONSTANTS_H

#include "mote_common.h"
#include "mote_copy_constants_dsp.h"

#ifndef mote_copy_blocks
/* Blocks of 64 bytes. Compilers copy a few aligned words by several registers at once; memcpy of a small C library goes
 * byte by byte. */
static inline void mote_copy_blocks(uint32_t *to, const uint32_t *from, size_t blocks) {
    for (; blocks > 0u; blocks--, to += 16, from += 16) {
        memcpy(to, from, 64u);
    }
}
#endif

MOTE_NOINLINE void mote_copy_constants(void *to, const void *from, size_t bytes) {
    uint32_t *t = (uint32_t *)to;
    const uint32_t *f = (const uint32_t *)from;
    const size_t blocks = bytes / 64u;
    mote_copy_blocks(t, f, blocks);
    t += 16u * blocks;
    f += 16u * blocks;
    for (bytes %= 64u; bytes >= 4u; bytes -= 4u) {
        memcpy(t++, f++, 4u);
    }
    memcpy(t, f, bytes);
}

#endif
