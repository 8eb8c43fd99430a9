/* mote_box.h: how far two boxes overlap. */
#ifndef MOTE_BOX_H
#define MOTE_BOX_H

#include "mote_common.h"

/* The intersection of two boxes (top, left, bottom, right) as a share of what both cover. */
static inline float mote_box_overlap(const float *a, const float *b) {
    const float area_a = (a[2] - a[0]) * (a[3] - a[1]);
    const float area_b = (b[2] - b[0]) * (b[3] - b[1]);
    if (area_a <= 0.0f || area_b <= 0.0f) {
        return 0.0f;
    }
    const float height = (a[2] < b[2] ? a[2] : b[2]) - (a[0] > b[0] ? a[0] : b[0]);
    const float width = (a[3] < b[3] ? a[3] : b[3]) - (a[1] > b[1] ? a[1] : b[1]);
    const float common = (height > 0.0f ? height : 0.0f) * (width > 0.0f ? width : 0.0f);
    return common / (area_a + area_b - common);
}

#endif
