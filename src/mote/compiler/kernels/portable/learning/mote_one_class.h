/* mote_one_class.h: how far a score is from those of normal samples: a running mean and mean absolute deviation.
 *
 * Both have 20 fraction bits, and are below 2^51 and 2^52; states may have been restored as anything. `T` is the type of the
 * score. */
#ifndef MOTE_ONE_CLASS_H
#define MOTE_ONE_CLASS_H

#include "mote_common.h"

typedef struct {
    int32_t window;
} mote_one_class_update_t;

typedef struct {
    int32_t floor;
} mote_one_class_score_t;

static inline int64_t mote_one_class_within(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

static inline int64_t mote_one_class_apart(int32_t score, int64_t mean) {
    const int64_t most = (int64_t)1 << 51;
    return (int64_t)score * 1048576 - mote_one_class_within(mean, -most, most);
}

static inline int64_t mote_one_class_deviation(int64_t deviation) {
    return mote_one_class_within(deviation, 0, (int64_t)1 << 52);
}

/* whole / count, halves up; a whole of 60 bits. */
static inline int64_t mote_one_class_share(int64_t whole, int64_t count) {
    const int64_t above = whole + count / 2;
    return (above - (above < 0 ? count - 1 : 0)) / count;
}

static inline void mote_one_class_learn(const mote_one_class_update_t *p, int32_t score, const int32_t *label,
                                        int64_t *statistics, int32_t *count, int32_t *seen) {
    *seen = 0;
    if (*label == 0) {
        const int32_t before = *count < 0 ? 0 : *count > p->window ? p->window : *count;
        const int32_t samples = before < p->window ? before + 1 : p->window;
        const int64_t apart = mote_one_class_apart(score, statistics[0]);
        const int64_t spread = mote_one_class_deviation(statistics[1]), far = apart < 0 ? -apart : apart;
        statistics[0] = (int64_t)score * 1048576 - apart + mote_one_class_share(apart, samples);
        statistics[1] = before == 0 ? 0 : spread + mote_one_class_share(far - spread, samples);
        *count = samples;
        *seen = samples;
    }
}

static inline int32_t mote_one_class_far(const mote_one_class_score_t *p, int32_t score, const int64_t *statistics,
                                         int32_t count) {
    const int64_t least = (int64_t)p->floor * 1048576, spread = mote_one_class_deviation(statistics[1]);
    const int64_t apart = mote_one_class_apart(score, statistics[0]) * 256;
    const int64_t y = mote_one_class_share(apart, spread < least ? least : spread);
    return count > 0 ? (int32_t)mote_one_class_within(y, INT32_MIN, INT32_MAX) : 0;
}

#define MOTE_ONE_CLASS_UPDATE(suffix, T)                                                                                   \
    typedef mote_one_class_update_t mote_one_class_update_##suffix##_t;                                                    \
    MOTE_UNUSED static void mote_one_class_update_##suffix(const mote_one_class_update_t *p, const T *in,                  \
                                                           const int32_t *label, int64_t *statistics, int32_t *count,      \
                                                           int32_t *seen) {                                                \
        mote_one_class_learn(p, *in, label, statistics, count, seen);                                                      \
    }

#define MOTE_ONE_CLASS_SCORE(suffix, T)                                                                                    \
    typedef mote_one_class_score_t mote_one_class_score_##suffix##_t;                                                      \
    MOTE_UNUSED static void mote_one_class_score_##suffix(const mote_one_class_score_t *p, const T *in,                    \
                                                          const int64_t *statistics, const int32_t *count, int32_t *out) { \
        *out = mote_one_class_far(p, *in, statistics, *count);                                                             \
    }

#endif
