/* mote_copy.h: the same bytes elsewhere, for a reshape whose output cannot share its input's memory. */
#ifndef MOTE_COPY_H
#define MOTE_COPY_H

#include "mote_common.h"

typedef struct {
    int32_t bytes;
} mote_copy_t;

static inline void mote_copy(const mote_copy_t *p, const void *in, void *out) {
    memcpy(out, in, (size_t)p->bytes);
}

#endif
