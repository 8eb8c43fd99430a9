/* mote_forest.h: decision trees as tables, walked by one loop.
 *
 * A tree is a list of elements. At a node: which feature it asks about, the threshold up to which what lies behind these
 * elements is where to go on, and how far to skip else. Features from `near` on, less that and one, have a distance of two
 * elements; `near` itself is a jump. From `far` on it is a leaf: that number less `far`, and `more` bits of the next
 * element behind it. Trees only lead forward, and so end.
 *
 * Either features are compared as they are, and elements are bytes, one or some of which are a threshold. Or they become
 * codes first, in the scratch memory: how many of the thresholds that they are compared with lie below them. A slot is a
 * feature with up to as many thresholds as a code can count; one that has more has several slots, and one of which some
 * nodes want what is no number to count as little, and others as much, has two. Where thresholds are integers close to
 * each other the code is what the feature is above the first of them, and no list is kept.
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

/* Whether a float32 number is none, by its bits: a comparison would be a call on cores without floating point. */
static inline int mote_forest_none_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits << 1 > 0xff000000u;
}

#define MOTE_FOREST_NONE_F32(x) mote_forest_none_f32(x)
#define MOTE_FOREST_NONE_S32(x) 0

/* Codes of type C for features of type X, which compare as KEY(x) with thresholds of type T; NONE(x): x is no number.
 * A slot is two numbers of type Z: twice the feature, and one more where that counts as nothing if it is no number; then
 * how many thresholds there are, 0 where the code is the distance from the one that there is. */
#define MOTE_FOREST_CODES(name, X, T, C, Z, KEY, NONE, most) \
    MOTE_UNUSED static inline const C *mote_##name##_codes(const Z *slot, int32_t slots, const T *threshold, \
                                                           const X *in, C *made) { \
        C *codes = made; \
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
        return made; \
    }

/* What leaves stand for. `columns` have as many elements as values are added in all, `starts` one more than there are
 * leaves: those of leaf n are numbers starts[n] to starts[n + 1] - 1, each of them one of `values`. */
#define MOTE_FOREST_LEAVES(name, L, V) \
    typedef struct { \
        int32_t added, kinds; \
        const V *values; \
        const L *columns; \
        const uint16_t *starts; \
        const uint16_t *which; \
    } mote_##name##_leaves_t;

/* A leaf is a class; */
#define MOTE_FOREST_VOTE(of, out, outputs, tree, leaf) out[leaf]++;
/* it is a value for the column of its tree, */
#define MOTE_FOREST_COLUMN(of, out, outputs, tree, leaf) out[(of)->columns[tree]] += (of)->values[leaf];
/* or the only one; */
#define MOTE_FOREST_SUM(of, out, outputs, tree, leaf) out[0] += (of)->values[leaf];
/* some values for columns; */
#define MOTE_FOREST_SOME(of, out, outputs, tree, leaf) \
    for (uint32_t k = (of)->starts[leaf]; k < (of)->starts[leaf + 1]; k++) { \
        out[(of)->columns[k]] += (of)->values[(of)->which[k]]; \
    }
/* or a value for each output. */
#define MOTE_FOREST_ROW(of, out, outputs, tree, leaf) \
    for (uint32_t k = 0; k < (uint32_t)(outputs); k++) { \
        out[k] += (of)->values[leaf * (uint32_t)(outputs) + k]; \
    }

/* Thresholds as they lie behind the number of a feature. */
#define MOTE_FOREST_CODE_AT(at) (at)[1]
#define MOTE_FOREST_U8_AT(at) (at)[1]
#define MOTE_FOREST_S8_AT(at) (int8_t)(at)[1]
#define MOTE_FOREST_S16_AT(at) (int16_t)(uint16_t)((at)[1] | (at)[2] << 8)
#define MOTE_FOREST_S32_AT(at) \
    (int32_t)((at)[1] | (uint32_t)(at)[2] << 8 | (uint32_t)(at)[3] << 16 | (uint32_t)(at)[4] << 24)

/* The leaf that a tree of elements of type C comes to, where x is compared as KEY(x) with thresholds of so many elements.
 * Distances of two elements have `bits` in the first one. */
#define MOTE_FOREST_WALK(name, C, X, KEY, AT, elements, bits) \
    MOTE_UNUSED static inline uint32_t mote_##name##_leaf(const C *at, const X *x, uint32_t near, uint32_t far, \
                                                          int32_t more) { \
        uint32_t slot = at[0]; \
        for (;;) { \
            if (slot < near) { \
                do { \
                    const int32_t threshold = AT(at); \
                    const int32_t value = KEY(x[slot]); \
                    if (value > threshold) { \
                        at += at[1 + elements]; \
                        MOTE_MOVED(at); \
                    } \
                    at += 2 + elements; \
                    MOTE_MOVED(at); \
                    slot = at[0]; \
                } while (slot < near); \
            } \
            if (slot >= far) { \
                break; \
            } \
            at += 3 + elements; \
            MOTE_MOVED(at); \
            if (slot == near || KEY(x[slot - near - 1]) > AT(at - (3 + elements))) { \
                at += (size_t)at[-2] | (size_t)at[-1] << bits; \
            } \
            slot = at[0]; \
            MOTE_MOVED(slot); \
        } \
        slot -= far; \
        return more > 0 ? slot << more | at[1] : slot; \
    }

/* For each row of features: sums of type V of the leaves of all trees. Trees have `sizes` elements. PREPARE: what is done
 * with the features first, ADD: what is done with a leaf of a tree. */
#define MOTE_FOREST_RUN(name, X, C, V, K, scratch_, PREPARE, ADD) \
    MOTE_HOT MOTE_UNUSED static inline void mote_##name(const mote_##name##_t *p, const X *in, V *out, \
                                                        int32_t n scratch_) { \
        for (; n > 0; n--, in += p->features, out += p->outputs) { \
            const C *root = p->nodes; \
            const K *x = PREPARE; \
            memcpy(out, p->base, (size_t)p->outputs * sizeof(V)); \
            for (int32_t tree = 0; tree < p->trees; root += p->sizes[tree++]) { \
                const uint32_t leaf = mote_##name##_leaf(root, x, (uint32_t)p->near, (uint32_t)p->far, p->more); \
                ADD(&p->of, out, p->outputs, tree, leaf) \
            } \
        } \
    }

#define MOTE_FOREST(name, X, C, Z, L, V, KEY, AT, elements, bits, ADD) \
    MOTE_FOREST_LEAVES(name, L, V) \
    typedef struct { \
        int32_t features, outputs, near, far, more, trees, leaves, size; \
        const C *nodes; \
        const Z *sizes; \
        const V *base; \
        mote_##name##_leaves_t of; \
    } mote_##name##_t; \
    MOTE_FOREST_WALK(name, C, X, KEY, AT, elements, bits) \
    MOTE_FOREST_RUN(name, X, C, V, X, MOTE_FOREST_NOTHING, in, ADD)

#define MOTE_FOREST_RANKED(name, X, T, C, Z, L, V, KEY, NONE, most, bits, ADD) \
    MOTE_FOREST_LEAVES(name, L, V) \
    typedef struct { \
        int32_t features, outputs, near, far, more, trees, leaves, size, slots, listed; \
        const C *nodes; \
        const Z *sizes; \
        const V *base; \
        mote_##name##_leaves_t of; \
        const Z *slot; \
        const T *thresholds; \
    } mote_##name##_t; \
    MOTE_FOREST_CODES(name, X, T, C, Z, KEY, NONE, most) \
    MOTE_FOREST_WALK(name, C, C, MOTE_FOREST_CODE_KEY, MOTE_FOREST_CODE_AT, 1, bits) \
    MOTE_FOREST_RUN(name, X, C, V, C, MOTE_FOREST_SCRATCH, \
                    mote_##name##_codes(p->slot, p->slots, p->thresholds, in, (C *)scratch), ADD)

#define MOTE_FOREST_CODE_KEY(x) (x)
#define MOTE_FOREST_NOTHING
#define MOTE_FOREST_SCRATCH , void *scratch

#endif
