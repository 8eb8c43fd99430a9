/* mote_forest_fits.h: whether parameters of mote_forest.h fit.
 *
 * All elements of the trees belong to one record after another, and trees begin with one: a walk that skips to records
 * only, and forward only, ends at a leaf. */
#ifndef MOTE_FOREST_FITS_H
#define MOTE_FOREST_FITS_H

#include "mote_common_fits.h"
#include "mote_forest.h"

/* How to read the elements of trees. */
typedef struct {
    const void *nodes;
    int32_t width; /* bytes of an element */
    int32_t size, elements, near, far, more, asked, leaves;
} mote_forest_records_t;

static inline uint32_t mote_forest_element(const mote_forest_records_t *r, int32_t at) {
    return r->width == 1 ? ((const uint8_t *)r->nodes)[at]
                         : r->width == 2 ? ((const uint16_t *)r->nodes)[at] : ((const uint32_t *)r->nodes)[at];
}

/* Elements of the record that begins somewhere, 0 where the trees end before it does. */
static inline int32_t mote_forest_record(const mote_forest_records_t *r, int32_t at) {
    const uint32_t slot = mote_forest_element(r, at);
    const int32_t count = slot < (uint32_t)r->near  ? 2 + r->elements
                          : slot < (uint32_t)r->far ? 3 + r->elements
                                                    : (r->more > 0 ? 2 : 1);
    return count <= r->size - at ? count : 0;
}

/* Whether a record begins at some distance behind another one, and that within the trees. */
static inline int mote_forest_begins(const mote_forest_records_t *r, int32_t at, uint32_t distance) {
    int32_t left = distance < (uint32_t)(r->size - at) ? (int32_t)distance : -1;
    while (left > 0) {
        const int32_t count = mote_forest_record(r, at);
        left = count > 0 ? left - count : -1;
        at += count;
    }
    return left == 0;
}

/* Whether a record asks about a feature that is there, and skips to a record, or is a leaf that is there. */
static inline int mote_forest_record_fits(const mote_forest_records_t *r, int32_t at, int32_t count) {
    const uint32_t slot = mote_forest_element(r, at);
    uint32_t skip;
    if (slot >= (uint32_t)r->far) {
        const uint32_t leaf = slot - (uint32_t)r->far;
        return r->more > 0 ? leaf <= UINT32_MAX >> r->more &&
                                 (leaf << r->more | mote_forest_element(r, at + 1)) < (uint32_t)r->leaves
                           : leaf < (uint32_t)r->leaves;
    }
    skip = mote_forest_element(r, at + 1 + r->elements);
    if (slot >= (uint32_t)r->near) {
        const uint32_t high = mote_forest_element(r, at + 2 + r->elements);
        if (r->width == 4 || (slot > (uint32_t)r->near && slot - (uint32_t)r->near - 1 >= (uint32_t)r->asked)) {
            return 0;
        }
        skip |= high << 8 * r->width;
    } else if (slot >= (uint32_t)r->asked) {
        return 0;
    }
    return mote_forest_begins(r, at + count, skip);
}

/* Whether trees of these sizes, in elements of so many bytes, are records one after another. */
MOTE_NOINLINE int mote_forest_trees_fit(const mote_forest_records_t *r, const void *sizes, int32_t wide, int32_t trees) {
    int32_t at = 0, tree = 0, root = 0;
    while (at < r->size) {
        const int32_t count = mote_forest_record(r, at);
        for (; tree < trees && root == at; tree++) {
            const uint32_t next = wide == 2 ? ((const uint16_t *)sizes)[tree] : ((const uint32_t *)sizes)[tree];
            if (next == 0 || next > (uint32_t)(r->size - at)) {
                return 0;
            }
            root += (int32_t)next;
        }
        if (count == 0 || (tree < trees && root <= at) || !mote_forest_record_fits(r, at, count)) {
            return 0;
        }
        at += count;
    }
    return tree == trees && root == r->size;
}

/* Whether slots name features that are there, and have so many thresholds in all. */
MOTE_NOINLINE int mote_forest_slots_fit(const void *slot, int32_t wide, int32_t slots, int32_t features, int32_t listed) {
    int64_t left = listed;
    for (int32_t i = 0; i < slots; i++) {
        const uint32_t feature = (wide == 2 ? ((const uint16_t *)slot)[2 * i] : ((const uint32_t *)slot)[2 * i]) >> 1;
        const uint32_t count = wide == 2 ? ((const uint16_t *)slot)[2 * i + 1] : ((const uint32_t *)slot)[2 * i + 1];
        left -= count == 0 ? 1 : (int64_t)count;
        if (feature >= (uint32_t)features || left < 0) {
            return 0;
        }
    }
    return 1;
}

/* Whether numbers of an array of bytes, or of pairs of them, are below a limit. */
MOTE_NOINLINE int mote_forest_below_all(const void *numbers, int32_t wide, int32_t count, int32_t limit) {
    int fits = 1;
    for (int32_t i = 0; fits && i < count; i++) {
        fits = (wide == 1 ? ((const uint8_t *)numbers)[i] : ((const uint16_t *)numbers)[i]) < limit;
    }
    return fits;
}

/* Whether values of leaves begin one after another. */
MOTE_NOINLINE int mote_forest_starts_fit(const uint16_t *starts, int32_t leaves, int32_t added) {
    int fits = starts[leaves] <= added;
    for (int32_t i = 0; fits && i < leaves; i++) {
        fits = starts[i] <= starts[i + 1];
    }
    return fits;
}

#define MOTE_FOREST_VOTE_FITS(p, room) ((p)->leaves <= (p)->outputs)
#define MOTE_FOREST_SUM_FITS(p, room) \
    mote_array_fits(room, (p)->of.values, (p)->leaves, 1, 1, 1, sizeof *(p)->of.values)
#define MOTE_FOREST_COLUMN_FITS(p, room) \
    (MOTE_FOREST_SUM_FITS(p, room) && \
     mote_array_fits(room, (p)->of.columns, (p)->trees, 1, 1, 1, sizeof *(p)->of.columns) && \
     mote_forest_below_all((p)->of.columns, (int32_t)sizeof *(p)->of.columns, (p)->trees, (p)->outputs))
#define MOTE_FOREST_ROW_FITS(p, room) \
    mote_array_fits(room, (p)->of.values, (p)->leaves, (p)->outputs, 1, 1, sizeof *(p)->of.values)
#define MOTE_FOREST_SOME_FITS(p, room) \
    (mote_array_fits(room, (p)->of.values, (p)->of.kinds, 1, 1, 1, sizeof *(p)->of.values) && \
     mote_array_fits(room, (p)->of.columns, (p)->of.added, 1, 1, 1, sizeof *(p)->of.columns) && \
     mote_array_fits(room, (p)->of.which, (p)->of.added, 1, 1, 1, 2) && \
     mote_array_fits(room, (p)->of.starts, (p)->leaves + 1, 1, 1, 1, 2) && \
     mote_forest_below_all((p)->of.columns, (int32_t)sizeof *(p)->of.columns, (p)->of.added, (p)->outputs) && \
     mote_forest_below_all((p)->of.which, 2, (p)->of.added, (p)->of.kinds) && \
     mote_forest_starts_fit((p)->of.starts, (p)->leaves, (p)->of.added))

/* `asked`: features, or codes, that nodes may ask about. */
#define MOTE_FOREST_WALK_FITS(name, X, C, V, ADD, count) \
    MOTE_UNUSED static inline int mote_##name##_walk_fits(const mote_##name##_t *p, const mote_room_t *room, \
                                                          int32_t asked) { \
        const mote_forest_records_t records = {p->nodes, (int32_t)sizeof(C), p->size, count, \
                                               p->near,  p->far,             p->more, asked, p->leaves}; \
        return mote_of_tensors(room) && mote_counts(p->near | p->far | p->trees | p->leaves | p->size | room->hi) && \
               p->near <= p->far && (p->more == 0 || (sizeof(C) < 4 && p->more == 8 * (int32_t)sizeof(C))) && \
               p->trees > 0 && p->leaves > 0 && \
               mote_takes(room, 0, mote_much_times(mote_count(room->hi, p->features, 1, 1), sizeof(X)), sizeof(X)) && \
               mote_gives(room, mote_much_times(mote_count(room->hi, p->outputs, 1, 1), sizeof(V)), sizeof(V)) && \
               mote_array_fits(room, p->base, p->outputs, 1, 1, 1, sizeof(V)) && \
               mote_array_fits(room, p->nodes, p->size, 1, 1, 1, sizeof(C)) && \
               mote_array_fits(room, p->sizes, p->trees, 1, 1, 1, sizeof *p->sizes) && \
               mote_forest_trees_fit(&records, p->sizes, (int32_t)sizeof *p->sizes, p->trees) && ADD##_FITS(p, room); \
    }

#define MOTE_FOREST_FITS(name, X, C, Z, L, V, KEY, AT, elements, bits, ADD) \
    MOTE_FOREST_WALK_FITS(name, X, C, V, ADD, elements) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_##name##_walk_fits(p, room, p->features); \
    }

#define MOTE_FOREST_RANKED_FITS(name, X, T, C, Z, L, V, KEY, NONE, most, bits, ADD) \
    MOTE_FOREST_WALK_FITS(name, X, C, V, ADD, 1) \
    MOTE_UNUSED static inline int mote_##name##_fits(const mote_##name##_t *p, const mote_room_t *room) { \
        return mote_counts(p->slots | p->listed) && \
               mote_holds(room, p->slot, mote_bytes_of(p->slots, 2, sizeof *p->slot), sizeof *p->slot) && \
               mote_holds(room, p->thresholds, mote_bytes_of(p->listed, 1, sizeof(T)), sizeof(T)) && \
               mote_bytes_of(p->slots, 1, sizeof(C)) <= room->scratch && \
               mote_forest_slots_fit(p->slot, (int32_t)sizeof *p->slot, p->slots, p->features, p->listed) && \
               mote_##name##_walk_fits(p, room, p->slots); \
    }

#endif
