/* mote_coded_s8_fits.h: checks of the parameters of mote_coded_s8.h. */
#ifndef MOTE_CODED_S8_FITS_H
#define MOTE_CODED_S8_FITS_H

#include "mote_code_fits.h"
#include "mote_coded_s8.h"

/* Whether the weights of `channels` channels can be expanded, into so many bytes at a time, which are words. */
static inline int mote_coded_fits(const mote_coded_t *p, const mote_room_t *room, int32_t channels, uint32_t *bytes) {
    const int32_t pairs = (channels + 1) / 2;
    if (!mote_counts(p->first | p->coded | p->last | p->channels | p->step | channels) || p->channels % 2 != 0 ||
        p->channels == 0) {
        return 0;
    }
    *bytes = mote_bytes_of(p->channels / 2, p->first + p->coded + p->last, 1);
    return *bytes <= room->scratch && (p->first | p->coded | p->last) % 4 == 0 &&
           (p->first + p->last == 0 || mote_holds(room, p->rest, mote_bytes_of(pairs, p->first + p->last, 1), 1)) &&
           mote_code_fits(&p->code, room, pairs, p->coded);
}

/* What the kernel around is given to compute some of the channels, with weights in working memory. */
static inline mote_room_t mote_coded_room(int32_t count, const mote_room_t *room, uint32_t bytes) {
    mote_room_t inner = *room;
    inner.lo = 0;
    inner.hi = count;
    inner.lent = bytes;
    inner.scratch -= bytes;
    return inner;
}

/* Every group of channels is checked as the kernel is called for it. */
#define MOTE_EXPANDED_FITS(kind, coded_fits, name, field, ...) \
    MOTE_UNUSED static inline int mote_##kind##_##name##_fits(const mote_##kind##_##name##_t *p, \
                                                              const mote_room_t *room) { \
        mote_##name##_t plain = p->plain; \
        int32_t left = p->plain.gemm.channels; \
        uint32_t bytes = 0; \
        int fits = room->form == MOTE_RUN_WHOLE && coded_fits(&p->coded, room, left, &bytes); \
        mote_room_t inner = mote_coded_room(p->coded.count, room, bytes); \
        plain.gemm.field = (const void *)&inner; \
        for (uint32_t begin = 0; fits && left > 0; left -= p->coded.channels, begin += (uint32_t)p->coded.step) { \
            plain.gemm.channels = mote_min(left, p->coded.channels); \
            inner.out = begin <= room->out ? room->out - begin : 0; \
            fits = mote_##name##_fits(&plain, &inner); \
            MOTE_CODED_NEXT_##field(plain.gemm, p->coded.channels); \
        } \
        return fits; \
    }

#define MOTE_CODED_FITS(name, field, ...) MOTE_EXPANDED_FITS(coded, mote_coded_fits, name, field, __VA_ARGS__)

#endif
