/* mote_detection.h: boxes from encodings and anchors, and the best of them that do not overlap.
 *
 * Only boxes that might be shown are decoded, in double precision, as the reference does. */
#ifndef MOTE_DETECTION_H
#define MOTE_DETECTION_H

#include "mote_box.h"
#include "mote_double.h"

#if MOTE_SHORT_DOUBLE
#error "boxes are decoded in double precision: compile for a double of 64 bits (avr-gcc: -mdouble=64)"
#endif
#include "mote_heap.h"

typedef struct {
    int32_t boxes, coordinates;  /* elements of an encoded box, of which the first four count */
    int32_t columns, background; /* scores of a box, and how many of them come before the classes */
    int32_t classes, told, each; /* classes, those told of a box, places for them */
    int32_t detections, per_class;
    float score_threshold, overlap_threshold;
    float box_scale, box_zero;     /* of codes; 1 and 0 where they are reals */
    float score_scale, score_zero; /* the same */
    float score_shift, score_offset;
    int32_t score_split; /* so many scores are rounded before something is added, others once: as LiteRT's are */
    float y_scale, x_scale, h_scale, w_scale;
    const float *anchors; /* y, x, height, width */
} mote_detection_t;

/* The corners of a box from four numbers and its anchor. */
static inline void mote_detection_corners(const mote_detection_t *p, const float *code, int32_t i, float *box) {
    const float *anchor = p->anchors + 4 * i;
    const double height = anchor[2], width = anchor[3];
    const float y = (float)((double)code[0] / (double)p->y_scale * height + (double)anchor[0]);
    const float x = (float)((double)code[1] / (double)p->x_scale * width + (double)anchor[1]);
    const float h = (float)(0.5 * mote_exp((double)code[2] / (double)p->h_scale) * height);
    const float w = (float)(0.5 * mote_exp((double)code[3] / (double)p->w_scale) * width);
    box[0] = y - h;
    box[1] = x - w;
    box[2] = y + h;
    box[3] = x + w;
}

/* Whether a box comes after another one: its score is less, or equal and its index greater. */
static inline int32_t mote_detection_after(const float *score, int32_t a, int32_t b) {
    return score[a] < score[b] || (!(score[a] > score[b]) && a > b);
}

/* Let a box sink in a heap with the first one on top. */
static inline void mote_detection_sink(int32_t *heap, int32_t hole, int32_t length, int32_t box, const float *score) {
    for (int32_t child = 2 * hole + 1; child < length; child = 2 * hole + 1) {
        if (child + 1 < length && mote_detection_after(score, heap[child], heap[child + 1])) {
            child++;
        }
        if (!mote_detection_after(score, box, heap[child])) {
            break;
        }
        heap[hole] = heap[child];
        hole = child;
    }
    heap[hole] = box;
}

/* The boxes whose scores reach the threshold, as a heap with the best on top; returns how many there are. */
static inline int32_t mote_detection_candidates(const mote_detection_t *p, const float *score, int32_t *heap) {
    int32_t count = 0;
    memset(heap, 0, (size_t)p->boxes * sizeof(int32_t));
    for (int32_t i = 0; i < p->boxes; i++) {
        if (score[i] >= p->score_threshold) {
            heap[count++] = i;
        }
    }
    for (int32_t i = count / 2 - 1; i >= 0; i--) {
        mote_detection_sink(heap, i, count, heap[i], score);
    }
    return count;
}

/* Take the best box away. */
static inline int32_t mote_detection_next(int32_t *heap, int32_t length, const float *score) {
    const int32_t found = heap[0];
    mote_detection_sink(heap, 0, length - 1, heap[length - 1], score);
    return found;
}

/* Whether a box overlaps none of those that were shown too far; they lie `step` elements from one to the next. */
static inline int32_t mote_detection_free(const mote_detection_t *p, const float *box, const float *shown, int32_t count,
                                          int32_t step) {
    for (; count > 0; count--, shown += step) {
        if (mote_box_overlap(shown, box) > p->overlap_threshold) {
            return 0;
        }
    }
    return 1;
}

/* Where the greatest values are; one alone is the first of its equals, several are as heaps have them. */
static inline void mote_detection_largest(const float *value, int32_t n, int32_t count, int32_t *order) {
    if (count != 1) {
        mote_heap_largest(value, n, count, order);
        return;
    }
    order[0] = 0;
    for (int32_t i = 1; i < n; i++) {
        order[0] = value[i] > value[order[0]] ? i : order[0];
    }
}

/* Put a detection behind those with greater or equal values, of which `most` are kept; returns how many there are. */
static inline int32_t mote_detection_insert(float *value, int32_t *kept, int32_t count, int32_t most, float score,
                                            int32_t which) {
    int32_t at = count < most ? count : most - 1;
    for (; at > 0 && value[at - 1] < score; at--) {
        value[at] = value[at - 1];
        kept[at] = kept[at - 1];
    }
    value[at] = score;
    kept[at] = which;
    return mote_min(count + 1, most);
}

/* The functions for boxes and scores of a type. Scratch: a score and an index of each box; and as much of each class, or
 * of each detection, and the corners of those of one class. */
#define MOTE_DETECTION(suffix, type)                                                                                       \
    typedef mote_detection_t mote_detection_fast_##suffix##_t, mote_detection_regular_##suffix##_t;                        \
                                                                                                                           \
    MOTE_UNUSED static void mote_detection_box_##suffix(const mote_detection_t *p, const type *boxes, int32_t i,           \
                                                        float *box) {                                                      \
        float code[4];                                                                                                     \
        for (int32_t k = 0; k < 4; k++) {                                                                                  \
            code[k] = ((float)boxes[i * p->coordinates + k] - p->box_zero) * p->box_scale;                                 \
        }                                                                                                                  \
        mote_detection_corners(p, code, i, box);                                                                           \
    }                                                                                                                      \
                                                                                                                           \
    MOTE_UNUSED static float mote_detection_score_##suffix(const mote_detection_t *p, const type *scores, int32_t i,       \
                                                           int32_t c) {                                                    \
        const int32_t at = i * p->columns + p->background + c;                                                             \
        const float code = (float)scores[at] + p->score_shift;                                                             \
        const float product = code * p->score_scale;                                                                       \
        return at < p->score_split ? product + p->score_offset : (code - p->score_zero) * p->score_scale;                  \
    }                                                                                                                      \
                                                                                                                           \
    /* Boxes suppress each other by their best classes. */                                                                 \
    MOTE_UNUSED static void mote_detection_fast_##suffix(const mote_detection_t *p, const type *boxes, const type *scores, \
                                                         float *out, void *scratch) {                                      \
        const int32_t places = p->detections * p->each;                                                                    \
        float *best = (float *)scratch, *values = best + p->boxes;                                                         \
        int32_t *heap = (int32_t *)(void *)(values + p->classes), *order = heap + p->boxes;                                \
        int32_t shown = 0;                                                                                                 \
        memset(out, 0, (size_t)(6 * places + 1) * sizeof(float));                                                          \
        for (int32_t i = 0; i < p->boxes; i++) {                                                                           \
            best[i] = mote_detection_score_##suffix(p, scores, i, 0);                                                      \
            for (int32_t c = 1; c < p->classes; c++) {                                                                     \
                const float score = mote_detection_score_##suffix(p, scores, i, c);                                        \
                best[i] = score > best[i] ? score : best[i];                                                               \
            }                                                                                                              \
        }                                                                                                                  \
        int32_t left = mote_detection_candidates(p, best, heap);                                                           \
        while (shown < p->detections && left > 0) {                                                                        \
            const int32_t i = mote_detection_next(heap, left--, best);                                                     \
            float *box = out + 4 * p->each * shown;                                                                        \
            float corners[4];                                                                                              \
            mote_detection_box_##suffix(p, boxes, i, corners);                                                             \
            if (!mote_detection_free(p, corners, out, shown, 4 * p->each)) {                                               \
                continue;                                                                                                  \
            }                                                                                                              \
            for (int32_t c = 0; c < p->classes; c++) {                                                                     \
                values[c] = mote_detection_score_##suffix(p, scores, i, c);                                                \
            }                                                                                                              \
            mote_detection_largest(values, p->classes, p->told, order);                                                    \
            for (int32_t k = 0; k < p->told; k++) {                                                                        \
                memcpy(box + 4 * k, corners, sizeof corners);                                                              \
                out[4 * places + p->each * shown + k] = (float)order[k];                                                   \
                out[5 * places + p->each * shown + k] = values[order[k]];                                                  \
            }                                                                                                              \
            shown++;                                                                                                       \
        }                                                                                                                  \
        out[6 * places] = (float)shown;                                                                                    \
    }                                                                                                                      \
                                                                                                                           \
    /* Boxes suppress each other in each class, the best of all classes are shown. */                                      \
    MOTE_UNUSED static void mote_detection_regular_##suffix(const mote_detection_t *p, const type *boxes,                  \
                                                            const type *scores, float *out, void *scratch) {               \
        const int32_t places = p->detections * p->each, most = mote_min(p->per_class, p->boxes);                           \
        float *score = (float *)scratch, *shown = score + p->boxes, *value = shown + 4 * most;                             \
        int32_t *heap = (int32_t *)(void *)(value + p->detections), *kept = heap + p->boxes;                               \
        memset(kept, 0, (size_t)p->detections * sizeof(int32_t));                                                          \
        int32_t count = 0;                                                                                                 \
        memset(out, 0, (size_t)(6 * places + 1) * sizeof(float));                                                          \
        for (int32_t c = 0; c < p->classes; c++) {                                                                         \
            for (int32_t i = 0; i < p->boxes; i++) {                                                                       \
                score[i] = mote_detection_score_##suffix(p, scores, i, c);                                                 \
            }                                                                                                              \
            int32_t left = mote_detection_candidates(p, score, heap), chosen = 0;                                          \
            while (chosen < most && left > 0) {                                                                            \
                const int32_t i = mote_detection_next(heap, left--, score);                                                \
                if (count == p->detections && score[i] <= value[count - 1]) {                                              \
                    break;                                                                                                 \
                }                                                                                                          \
                float *box = shown + 4 * chosen;                                                                           \
                mote_detection_box_##suffix(p, boxes, i, box);                                                             \
                if (mote_detection_free(p, box, shown, chosen, 4)) {                                                       \
                    count = mote_detection_insert(value, kept, count, p->detections, score[i], i * p->classes + c);        \
                    chosen++;                                                                                              \
                }                                                                                                          \
            }                                                                                                              \
        }                                                                                                                  \
        for (int32_t k = 0; k < count; k++) {                                                                              \
            mote_detection_box_##suffix(p, boxes, kept[k] / p->classes, out + 4 * k);                                      \
            out[4 * places + k] = (float)(kept[k] % p->classes);                                                           \
            out[5 * places + k] = value[k];                                                                                \
        }                                                                                                                  \
        out[6 * places] = (float)count;                                                                                    \
    }

#endif
