/* mote_forest.h: decision trees as tables, walked by one loop. Scratch: a code for each slot and one before them.
 *
 * First every feature that is asked about becomes a code: how many of the thresholds that it is compared with lie below
 * it. A slot is a feature with up to as many thresholds as a code can count; one that has more has several slots, and one
 * of which some nodes want what is no number to count as little, and others as much, has two. Where thresholds are
 * integers close to each other the code is what the feature is above the first of them, and no list is kept.
 *
 * A tree is a list of elements. At a node: the slot, the code up to which the next element is where to go on, and how far
 * to skip behind these three else. Slots from `near` on, less that, have a distance of two elements. From `far` on it is
 * a leaf: that number less `far`, and `more` bits of the next element behind it. Trees only lead forward, and so end.
 * The first code is larger than all others: a node that asks whether it is 0 is a jump.
 */
#ifndef MOTE_FOREST_H
#define MOTE_FOREST_H

#include "mote_common.h"

/* The bits of a float32 number as an integer that compares as the number does; zeros are the same but for the sign. */
static inline int32_t mote_forest_key_f32(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (int32_t)((uint32_t)(bits >> 31) >> 1);
}

static inline int32_t mote_forest_key_s32(int32_t x) { return x; }

#define MOTE_FOREST_NONE_F32(x) ((x) != (x))
#define MOTE_FOREST_NONE_S32(x) 0

/* Codes of type C for features of type X, which compare as KEY(x) with thresholds of type T; NONE(x): x is no number.
 * A slot is two numbers of type Z: twice the feature, and one more where that counts as nothing if it is no number; then
 * how many thresholds there are, 0 where the code is the distance from the one that there is. */
#define MOTE_FOREST_CODES(name, X, T, C, Z, KEY, NONE, most) \
    MOTE_UNUSED static inline void mote_##name##_codes(const Z *slot, int32_t slots, const T *threshold, const X *in, \
                                                       C *codes) { \
        for (; slots > 0; slots--, slot += 2) { \
            const X feature = in[slot[0] >> 1]; \
            const int32_t x = KEY(feature); \
            uint32_t count = slot[1], code = 0; \
            if (count == 0) { \
                const int32_t least = *threshold++; \
                code = x <= least ? 0 : (uint32_t)x - (uint32_t)least; \
                code = code > most ? most : code; \
            } else if (NONE(feature)) { \
                code = slot[0] & 1 ? 0 : count; \
                threshold += count; \
            } else { \
                const T *const behind = threshold + count; \
                const T *const first = threshold; \
                while (count > 0) { \
                    const uint32_t half = count >> 1; \
                    if (threshold[half] < x) { \
                        threshold += half + 1; \
                        count -= half + 1; \
                    } else { \
                        count = half; \
                    } \
                } \
                code = (uint32_t)(threshold - first); \
                threshold = behind; \
            } \
            *codes++ = (C)code; \
        } \
    }

/* The leaf that a tree comes to. */
#define MOTE_FOREST_WALK(name, C, bits) \
    MOTE_UNUSED static inline uint32_t mote_##name##_leaf(const C *at, const C *codes, uint32_t near, uint32_t far, \
                                                          int32_t more) { \
        uint32_t slot; \
        for (;;) { \
            slot = at[0]; \
            if (slot < near) { \
                at += codes[slot] > at[1] ? 3 + (size_t)at[2] : 3; \
            } else if (slot < far) { \
                at += codes[slot - near] > at[1] ? 4 + ((size_t)at[2] | (size_t)at[3] << bits) : 4; \
            } else { \
                break; \
            } \
        } \
        slot -= far; \
        return more > 0 ? slot << more | at[1] : slot; \
    }

/* The whole forest, with sums of type V. Trees have `sizes` elements. ADD: what is done with a leaf of a tree. */
#define MOTE_FOREST(name, X, T, C, Z, V, KEY, NONE, most, bits, ADD) \
    typedef struct { \
        int32_t features, outputs, slots, near, far, more, trees, leaves; \
        const Z *slot; \
        const T *thresholds; \
        const C *nodes; \
        const Z *sizes; \
        const Z *columns; \
        const V *base; \
        const V *values; \
    } mote_##name##_t; \
    MOTE_FOREST_CODES(name, X, T, C, Z, KEY, NONE, most) \
    MOTE_FOREST_WALK(name, C, bits) \
    MOTE_HOT MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const X *in, V *out, int32_t n, \
                                                        void *scratch) { \
        C *const codes = scratch; \
        codes[0] = (C)most; \
        for (; n > 0; n--, in += p->features, out += p->outputs) { \
            const C *root = p->nodes; \
            mote_##name##_codes(p->slot, p->slots, p->thresholds, in, codes + 1); \
            memcpy(out, p->base, (size_t)p->outputs * sizeof(V)); \
            for (int32_t tree = 0; tree < p->trees; root += p->sizes[tree++]) { \
                const uint32_t leaf = \
                    mote_##name##_leaf(root, codes, (uint32_t)p->near, (uint32_t)p->far, p->more); \
                ADD(p, out, tree, leaf) \
            } \
        } \
    }

/* A leaf is a class. */
#define MOTE_FOREST_VOTE(p, out, tree, leaf) out[leaf]++;
/* A leaf is a value for the column of its tree; */
#define MOTE_FOREST_COLUMN(p, out, tree, leaf) out[p->columns[tree]] += p->values[leaf];
/* the only column; */
#define MOTE_FOREST_SUM(p, out, tree, leaf) out[0] += p->values[leaf];
/* or a value for each output. */
#define MOTE_FOREST_ROW(p, out, tree, leaf) \
    for (int32_t k = 0; k < p->outputs; k++) { \
        out[k] += p->values[leaf * (uint32_t)p->outputs + (uint32_t)k]; \
    }

#endif
