/* mote_slide.h: a window over a stream, whose elements move on in memory when new ones come. */
#ifndef MOTE_SLIDE_H
#define MOTE_SLIDE_H

#include "mote_common.h"

typedef struct {
    int32_t runs;  /* pieces of the window that slide by themselves */
    int32_t kept;  /* bytes of a piece that stay in the window */
    int32_t fresh; /* bytes that are new */
} mote_slide_t;

MOTE_NOINLINE void mote_slide(const mote_slide_t *p, const void *in, void *window) {
    const uint8_t *from = (const uint8_t *)in;
    uint8_t *to = (uint8_t *)window;
    for (int32_t i = 0; i < p->runs; i++) {
        memmove(to, to + p->fresh, (size_t)p->kept);
        memcpy(to + p->kept, from, (size_t)p->fresh);
        from += p->fresh;
        to += p->kept + p->fresh;
    }
}

#endif
