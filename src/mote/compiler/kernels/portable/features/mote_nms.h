/* mote_nms.h: the boxes with the best scores, of those that overlap only the best.
 *
 * `T` is the type of boxes and scores, `N` that of results, `C` that of coordinates and `A` that of areas. An overlap is too
 * large where it is more than `share` parts of what both boxes cover, of `whole` parts. Scratch: the class of each box, or
 * -1 for those that are done, and its score. */
#ifndef MOTE_NMS_H
#define MOTE_NMS_H

#include "mote_common.h"

#define MOTE_NMS_FIELDS 6

#define MOTE_NMS(suffix, T, N, C, A)                                                                                       \
    typedef struct {                                                                                                       \
        int32_t boxes, classes, most, centers, together;                                                                   \
        N zero, above, share, whole;                                                                                       \
    } mote_nms_##suffix##_t;                                                                                               \
                                                                                                                           \
    /* The least and greatest coordinates of a box; where it has a center, doubled. */                                     \
    MOTE_UNUSED static void mote_nms_corners_##suffix(const mote_nms_##suffix##_t *p, const T *box, C *corners) {          \
        for (int32_t i = 0; i < 2; i++) {                                                                                  \
            const C first = (C)box[i] - (C)p->zero, second = (C)box[i + 2] - (C)p->zero;                                   \
            const C size = second < 0 ? -second : second, least = first < second ? first : second;                         \
            corners[i] = p->centers ? first + first - size : least;                                                        \
            corners[i + 2] = p->centers ? first + first + size : first < second ? second : first;                          \
        }                                                                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static int32_t mote_nms_covers_##suffix(const mote_nms_##suffix##_t *p, const C *a, const T *box) {        \
        C b[4];                                                                                                            \
        mote_nms_corners_##suffix(p, box, b);                                                                              \
        const C height = (a[2] < b[2] ? a[2] : b[2]) - (a[0] > b[0] ? a[0] : b[0]);                                        \
        const C width = (a[3] < b[3] ? a[3] : b[3]) - (a[1] > b[1] ? a[1] : b[1]);                                         \
        if (!(height > 0 && width > 0)) {                                                                                  \
            return 0;                                                                                                      \
        }                                                                                                                  \
        const A area_a = (A)(a[2] - a[0]) * (A)(a[3] - a[1]), area_b = (A)(b[2] - b[0]) * (A)(b[3] - b[1]);                \
        const A common = (A)height * (A)width, both = area_a + area_b - common;                                            \
        return common * (A)p->whole > (A)p->share * both;                                                                  \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static void mote_nms_##suffix(const mote_nms_##suffix##_t *p, const T *boxes, const T *scores, N *out,     \
                                              void *scratch) {                                                             \
        int32_t *kind = (int32_t *)scratch;                                                                                \
        N *value = (N *)(void *)(kind + p->boxes);                                                                         \
        for (int32_t i = 0; i < p->boxes; i++) {                                                                           \
            const T *score = scores + i * p->classes;                                                                      \
            int32_t best = 0;                                                                                              \
            for (int32_t c = 1; c < p->classes; c++) {                                                                     \
                best = score[c] > score[best] ? c : best;                                                                  \
            }                                                                                                              \
            value[i] = score[best];                                                                                        \
            kind[i] = score[best] > p->above ? best : -1;                                                                  \
        }                                                                                                                  \
        for (int32_t k = 0; k < p->most; k++, out += MOTE_NMS_FIELDS) {                                                    \
            int32_t best = -1;                                                                                             \
            for (int32_t i = 0; i < p->boxes; i++) {                                                                       \
                best = kind[i] >= 0 && (best < 0 || value[i] > value[best]) ? i : best;                                    \
            }                                                                                                              \
            memset(out, 0, MOTE_NMS_FIELDS * sizeof *out);                                                                 \
            out[0] = -1;                                                                                                   \
            if (best < 0) {                                                                                                \
                continue;                                                                                                  \
            }                                                                                                              \
            const T *box = boxes + 4 * best;                                                                               \
            const int32_t shown = kind[best];                                                                              \
            out[0] = (N)shown;                                                                                             \
            out[1] = value[best];                                                                                          \
            for (int32_t i = 0; i < 4; i++) {                                                                              \
                out[2 + i] = box[i];                                                                                       \
            }                                                                                                              \
            C corners[4];                                                                                                  \
            mote_nms_corners_##suffix(p, box, corners);                                                                    \
            kind[best] = -1;                                                                                               \
            for (int32_t i = 0; i < p->boxes; i++) {                                                                       \
                if (kind[i] >= 0 && (p->together || kind[i] == shown) &&                                                   \
                    mote_nms_covers_##suffix(p, corners, boxes + 4 * i)) {                                                 \
                    kind[i] = -1;                                                                                          \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
    }

#endif
