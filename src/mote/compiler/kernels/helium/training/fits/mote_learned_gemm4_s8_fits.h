/* mote_learned_gemm4_s8_fits.h: checks of the parameters of mote_learned_gemm4_s8.h: those of the kernel inside, whose
 * weights are in working memory. */
#ifndef MOTE_LEARNED_GEMM4_S8_FITS_H
#define MOTE_LEARNED_GEMM4_S8_FITS_H

#include "mote_gemm4_s8_fits.h"
#include "mote_learned_fits.h"
#include "mote_learned_gemm4_s8.h"

MOTE_NOINLINE int mote_learned_gemm4_fits(const mote_learned_gemm4_t *p, const mote_gemm4_t *g, const mote_room_t *room) {
    const uint32_t own = mote_size(p->own), vectors = mote_bytes_of(p->vectors, 64, 1);
    int fits = room->form == MOTE_RUN_WHOLE && g->channels >= 4 && mote_within(p->depth, 1, 32768) &&
               mote_within(p->zero, -128, 127) && mote_within(p->vectors, 1, 4096) && p->own % 4 == 0 &&
               mote_much_plus(mote_much_plus(own, 4 * MOTE_LEARNED_CONSTANTS), vectors) <= room->scratch &&
               mote_array_fits(room, g->constants, g->fours, MOTE_LEARNED_CONSTANTS, 1, 1, 4) &&
               mote_array_fits(room, p->from, p->vectors, 1, 1, 1, 2) &&
               mote_array_fits(room, p->bits, g->channels, 1, 1, 1, 1) &&
               mote_learned_has(room, 1, mote_bytes_of(g->channels, p->depth, 1), 1) &&
               mote_learned_has(room, 2, mote_bytes_of(g->channels, 4, 1), 4) && mote_learned_behind(room, 0);
    for (int32_t i = 0; fits && i < p->vectors; i++) {
        fits = p->from[i] < p->depth;
    }
    for (int32_t c = 0; fits && c < g->channels; c++) {
        fits = p->bits[c] <= 30;
    }
    return fits;
}

/* The room of the kernel inside, to which itself stands for weights. */
static inline mote_room_t mote_learned_gemm4_inner(const mote_learned_gemm4_t *p, const mote_room_t *room, int32_t fours) {
    mote_room_t inner = *room;
    inner.lent = mote_bytes_of(p->vectors, fours, 64);
    inner.scratch = (uint32_t)p->own;
    inner.lo = 0;
    inner.hi = p->units;
    return inner;
}

#define MOTE_LEARNED_GEMM4_FITS(id) \
    MOTE_UNUSED static inline int mote_##id##_weights_fits(const mote_##id##_weights_t *p, const mote_room_t *room) { \
        const mote_room_t inner = mote_learned_gemm4_inner(&p->learned, room, p->kernel.gemm.fours); \
        mote_##id##_t kernel = p->kernel; \
        kernel.gemm.weights = (const void *)&inner; \
        return mote_learned_gemm4_fits(&p->learned, &p->kernel.gemm, room) && mote_##id##_fits(&kernel, &inner); \
    }
#define MOTE_LEARNED_GEMM4_FLAT_FITS(id) MOTE_LEARNED_GEMM4_FITS(id)
#define MOTE_LEARNED_GEMM4_ROWS_FITS(id) MOTE_LEARNED_GEMM4_FITS(id)

#endif
