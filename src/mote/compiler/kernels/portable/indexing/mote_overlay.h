/* mote_overlay.h: a tensor with elements of another one over some of its own. Any element type. */
#ifndef MOTE_OVERLAY_H
#define MOTE_OVERLAY_H

#include "mote_index.h"
#include "mote_move.h"

typedef struct {
    int32_t bytes; /* of the whole tensor */
    mote_move_t move;
} mote_overlay_t;

static inline void mote_overlay(const mote_overlay_t *p, const void *in, const void *over, void *out) {
    if (in != out) {
        memcpy(out, in, (size_t)p->bytes);
    }
    mote_move(&p->move, over, out);
}

/* The same where indices say where the other tensor begins. */
typedef struct {
    int32_t axes;
    int32_t width; /* bytes of an index */
    const mote_begin_t *begin;
    mote_overlay_t overlay;
} mote_update_t;

static inline void mote_update(const mote_update_t *p, const void *in, const void *over, const void *indices,
                               void *out) {
    if (in != out) {
        memcpy(out, in, (size_t)p->overlay.bytes);
    }
    mote_move(&p->overlay.move, over, (int8_t *)out + mote_begin(p->begin, p->axes, indices, p->width));
}

#endif
