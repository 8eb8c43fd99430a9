/* mote_detection_fits.h: whether parameters of mote_detection.h fit. */
#ifndef MOTE_DETECTION_FITS_H
#define MOTE_DETECTION_FITS_H

#include "mote_detection.h"
#include "mote_elements_fits.h"

static inline int mote_detection_fits(const mote_detection_t *p, const mote_room_t *room, uint32_t size) {
    const int32_t bytes = (int32_t)size;
    const uint32_t places = mote_count(p->detections, p->each, 6 * (int32_t)sizeof(float), 1);
    return room->form == MOTE_RUN_WHOLE && p->coordinates >= 4 && mote_within(p->columns, 1, MOTE_LARGEST) &&
           mote_within(p->background, 0, p->columns) && mote_within(p->classes, 1, p->columns - p->background) &&
           mote_within(p->told, 1, mote_min(p->classes, p->each)) && mote_within(p->per_class, 1, MOTE_LARGEST) &&
           mote_takes(room, 0, mote_count(p->boxes, p->coordinates, bytes, 1), size) &&
           mote_takes(room, 1, mote_count(p->boxes, p->columns, bytes, 1), size) &&
           mote_holds(room, p->anchors, mote_count(p->boxes, 4 * (int32_t)sizeof(float), 1, 1), 4) &&
           mote_gives(room, mote_much_plus(places, sizeof(float)), sizeof(float));
}

/* Scores and a heap of all boxes, and something more of so many elements. */
static inline int mote_detection_works(const mote_detection_t *p, const mote_room_t *room, uint32_t more) {
    const uint32_t elements = mote_much_plus(mote_count(p->boxes, 2, 1, 1), more);
    return mote_much_times(elements, 4) <= room->scratch;
}

static inline uint32_t mote_detection_regular_more(const mote_detection_t *p) {
    return mote_much_plus(mote_count(mote_min(p->per_class, p->boxes), 4, 1, 1), mote_count(p->detections, 2, 1, 1));
}

#endif
